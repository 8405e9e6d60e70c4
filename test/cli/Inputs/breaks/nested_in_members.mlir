// A loop with several results in a loop with a flag for each member: an error at its line.
!list = !foreach.list<tensor<?xf32>>
!flags = !foreach.list<tensor<i1>>
func.func @f(%x: !list, %flag: !flags, %more: tensor<i1>, %limit: tensor<i32>) -> !list {
  %y, %n = foreach.while (%c = %x : !list) upto %limit -> (!list, !foreach.list<tensor<i32>>) {
    %z, %m = foreach.while (%d = %c : !list) upto %limit -> (!list, tensor<i32>) {
      foreach.yield %d while %more : !list while tensor<i1>
    }
    foreach.yield %z while %flag : !list while !flags
  }
  return %y : !list
}

// The logistic map, whose errors double in each iteration.
!list = !foreach.list<tensor<?xf32>>
func.func @chaos(%x0: !list, %limit: tensor<i32>) -> (!list, tensor<i32>) {
  %s = foreach.map (%x = %x0 : !list) -> !list {
    %a = math.absf %x : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %a, %one : f32
    %q = arith.divf %a, %d : f32
    foreach.yield %q : f32
  }
  %x, %n = foreach.while (%x = %s : !list) upto %limit -> (!list, tensor<i32>) {
    %y = foreach.map (%x = %x : !list) -> !list {
      %one = arith.constant 1.0 : f32
      %four = arith.constant 4.0 : f32
      %m = arith.subf %one, %x : f32
      %p = arith.mulf %four, %x : f32
      %r = arith.mulf %p, %m : f32
      foreach.yield %r : f32
    }
    %more = foreach.map () -> tensor<i1> {
      %true = arith.constant true
      foreach.yield %true : i1
    }
    foreach.yield %y while %more : !list while tensor<i1>
  }
  return %x, %n : !list, tensor<i32>
}

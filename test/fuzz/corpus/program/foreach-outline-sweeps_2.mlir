!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @counts(%x: !list, %m: !mats, %u: !list, %t: !each) -> (!each, !list, tensor<f32>) {
  %n = foreach.reduce add along member (%x = %x : !list) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %r = foreach.reduce add along j (%m = %m : !mats, %u = %u[i] : !list) -> !list {
    foreach.yield %u : f32
  }
  %s = foreach.reduce add along list (%t = %t : !each) -> tensor<f32> {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  return %n, %r, %s : !each, !list, tensor<f32>
}

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!at = !foreach.list<tensor<?xi64>>
func.func @reductions(%m: !mats) -> (!list, !list, !each, tensor<f32>, !list, !at) {
  %a = foreach.reduce logsumexp along j (%m = %m : !mats) -> !list {
    foreach.yield %m : f32
  }
  %b = foreach.reduce max along i (%m = %m : !mats) -> !list {
    foreach.yield %m : f32
  }
  %c = foreach.reduce mul along member (%m = %m : !mats) -> !each {
    foreach.yield %m : f32
  }
  %d = foreach.reduce min along list (%m = %m : !mats) -> tensor<f32> {
    foreach.yield %m : f32
  }
  %e, %f = foreach.reduce argmax along j (%m = %m : !mats) -> (!list, !at) {
    foreach.yield %m : f32
  }
  return %a, %b, %c, %d, %e, %f : !list, !list, !each, tensor<f32>, !list, !at
}

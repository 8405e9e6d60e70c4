!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @axes(%c: !mats) -> (!list, !list, !each, tensor<f32>) {
  %i = foreach.reduce add along i (%x = %c[i, j] : !mats) -> !list { foreach.yield %x : f32 }
  %j = foreach.reduce add along j (%x = %c[i, j] : !mats) -> !list { foreach.yield %x : f32 }
  %m = foreach.reduce add along member (%x = %c : !mats) -> !each { foreach.yield %x : f32 }
  %l = foreach.reduce add along list (%x = %c : !mats) -> tensor<f32> { foreach.yield %x : f32 }
  return %i, %j, %m, %l : !list, !list, !each, tensor<f32>
}

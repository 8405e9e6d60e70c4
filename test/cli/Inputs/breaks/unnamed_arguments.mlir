// An argument without a name has the name arg0, arg1, and so on, unless another one has it.
!list = !foreach.list<tensor<?xf32>>
func.func @unnamed(%0: tensor<f32>, %1: tensor<f32>, %arg0: !list) -> !list {
  %2 = foreach.map (%a = %arg0 : !list, %b = %0, %c = %1 : tensor<f32>) -> !list {
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %d, %c : f32
    foreach.yield %e : f32
  }
  return %2 : !list
}

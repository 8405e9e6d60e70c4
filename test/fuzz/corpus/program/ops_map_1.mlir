!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @broadcast(%c: !mats, %u: !list, %v: !list, %s: !each, %t: tensor<f64>) -> !mats {
  %r = foreach.map (%c = %c : !mats, %u = %u[i], %v = %v[j] : !list, %s = %s : !each, %t = %t as f32 : tensor<f64>)
      -> !mats {
    %0 = arith.addf %c, %u : f32
    %1 = arith.addf %0, %v : f32
    %2 = arith.mulf %1, %s : f32
    %3 = arith.mulf %2, %t : f32
    foreach.yield %3 : f32
  }
  return %r : !mats
}

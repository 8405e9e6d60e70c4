// Adagrad, with a rate that decays (Duchi et al., Adaptive Subgradient Methods for Online Learning).
//
//   s = s + g^2,  p = p - lr / (1 + (t - 1) decay) g / (sqrt(s) + eps)

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @adagrad(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %sum: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %step: !each {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %decay: !num {foreach.default = 0.1 : f64},
    %eps: !num {foreach.default = 1.0e-10 : f64}) -> (!vecs, !vecs, !each) {
  %p, %s = foreach.map (
      %p = %param, %g = %grad, %s = %sum : !vecs, %t = %step : !each, %lr = %lr as f32, %decay = %decay as f32,
      %eps = %eps as f32 : !num) -> (!vecs, !vecs) {
    // rate = lr / (1 + t * decay)
    %one = arith.constant 1.0 : f32
    %rate_1 = arith.mulf %t, %decay : f32
    %rate_2 = arith.addf %one, %rate_1 : f32
    %rate = arith.divf %lr, %rate_2 : f32
    // s1 = s + g * g
    %s1_1 = arith.mulf %g, %g : f32
    %s1 = arith.addf %s, %s1_1 : f32
    // p1 = p - rate * g / (sqrt(s1) + eps)
    %p1_1 = arith.mulf %rate, %g : f32
    %p1_2 = math.sqrt %s1 : f32
    %p1_3 = arith.addf %p1_2, %eps : f32
    %p1_4 = arith.divf %p1_1, %p1_3 : f32
    %p1 = arith.subf %p, %p1_4 : f32
    foreach.yield %p1, %s1 : f32, f32
  }
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    foreach.yield %t1 : f32
  }
  return %p, %s, %t1 : !vecs, !vecs, !each
}

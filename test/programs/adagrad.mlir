// Adagrad, with a rate that decays (Duchi et al., Adaptive Subgradient Methods for Online Learning).
//
//   s = s + g^2,  p = p - lr / (1 + (t - 1) decay) g / (sqrt(s) + eps)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @adagrad(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %sum: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 2 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %decay: !num {foreach.default = 0.1 : f64},
    %eps: !num {foreach.default = 1.0e-10 : f64}) -> (!vecs, !vecs, !each) {
  %p, %s = foreach.map (
      %p = %param as !real, %g = %grad as !real, %s = %sum as !real : !vecs, %t = %step : !each, %lr = %lr as !real,
      %decay = %decay as !real, %eps = %eps as !real : !num) -> (!vecs, !vecs) {
    // rate = lr / (1 + t * decay)
    %one = arith.constant 1.0 : !real
    %rate_1 = arith.mulf %t, %decay : !real
    %rate_2 = arith.addf %one, %rate_1 : !real
    %rate = arith.divf %lr, %rate_2 : !real
    // s1 = s + g * g
    %s1_1 = arith.mulf %g, %g : !real
    %s1 = arith.addf %s, %s1_1 : !real
    // p1 = p - rate * g / (sqrt(s1) + eps)
    %p1_1 = arith.mulf %rate, %g : !real
    %p1_2 = math.sqrt %s1 : !real
    %p1_3 = arith.addf %p1_2, %eps : !real
    %p1_4 = arith.divf %p1_1, %p1_3 : !real
    %p1 = arith.subf %p, %p1_4 : !real
    foreach.yield %p1, %s1 : !real, !real
  }
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : !real
    %t1 = arith.addf %t, %one : !real
    foreach.yield %t1 : !real
  }
  return %p, %s, %t1 : !vecs, !vecs, !each
}

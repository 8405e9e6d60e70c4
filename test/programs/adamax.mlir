// Adamax: Adam with the largest gradient instead of the second moment (Kingma and Ba, Adam, section 7.1).
//
//   u = max(b2 u, |g| + eps),  p = p - lr / (1 - b1^t) m / u

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @adamax(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %most: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 2.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !vecs, !vecs, !each) {
  %t1, %rate = foreach.map (%t = %step as f64 : !each, %b1 = %beta1, %lr = %lr : !num) -> (!each, !each) {
    %one = arith.constant 1.0 : f64
    %t1 = arith.addf %t, %one : f64
    // rate = lr / (1 - pow(b1, t1))
    %rate_1 = math.powf %b1, %t1 : f64
    %rate_2 = arith.subf %one, %rate_1 : f64
    %rate = arith.divf %lr, %rate_2 : f64
    foreach.yield %t1, %rate : f64, f64
  }
  %p, %m, %u = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %u = %most as !real : !vecs,
      %rate = %rate : !each, %b1 = %beta1 as !real, %b2 = %beta2 as !real, %eps = %eps as !real : !num)
      -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + (1 - b1) * g
    %m1_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %m1_2 = arith.subf %one, %b1 : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    // u1 = max(b2 * u, abs(g) + eps)
    %u1_1 = arith.mulf %b2, %u : !real
    %u1_2 = math.absf %g : !real
    %u1_3 = arith.addf %u1_2, %eps : !real
    %u1 = arith.maximumf %u1_1, %u1_3 : !real
    // p1 = p - rate * m1 / u1
    %p1_1 = arith.mulf %rate, %m1 : !real
    %p1_2 = arith.divf %p1_1, %u1 : !real
    %p1 = arith.subf %p, %p1_2 : !real
    foreach.yield %p1, %m1, %u1 : !real, !real, !real
  }
  return %p, %m, %u, %t1 : !vecs, !vecs, !vecs, !each
}

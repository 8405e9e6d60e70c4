// Yogi: the second moment changes by a bounded amount (Zaheer et al., Adaptive Methods for Nonconvex Optimization).
//
//   v = v - (1 - b2) sign(v - g^2) g^2

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @yogi(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 1.0e-6 : !element},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-3 : f64}) -> (!vecs, !vecs, !vecs) {
  %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %p, %m, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %v = %square as !real : !vecs, %lr = %lr as !real,
      %b1 = %beta1 as !real, %w1 = %w1 as !real, %w2 = %w2 as !real, %eps = %eps as !real : !num)
      -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + w1 * g
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = arith.mulf %w1, %g : !real
    %m1 = arith.addf %m1_1, %m1_2 : !real
    %g2 = arith.mulf %g, %g : !real
    // v1 = v - w2 * sign(v - g2) * g2
    %v1_1 = arith.subf %v, %g2 : !real
    %v1_2 = foreach.sign %v1_1 : !real
    %v1_3 = arith.mulf %w2, %v1_2 : !real
    %v1_4 = arith.mulf %v1_3, %g2 : !real
    %v1 = arith.subf %v, %v1_4 : !real
    // p1 = p - lr * m1 / (sqrt(v1) + eps)
    %p1_1 = arith.mulf %lr, %m1 : !real
    %p1_2 = math.sqrt %v1 : !real
    %p1_3 = arith.addf %p1_2, %eps : !real
    %p1_4 = arith.divf %p1_1, %p1_3 : !real
    %p1 = arith.subf %p, %p1_4 : !real
    foreach.yield %p1, %m1, %v1 : !real, !real, !real
  }
  return %p, %m, %v : !vecs, !vecs, !vecs
}

// RAdam: Adam that divides by the second moment only when its variance is known well enough (Liu et al., On the
// Variance of the Adaptive Learning Rate and Beyond).
//
//   n = 2 / (1 - b2) - 1,  r = n - 2 t b2^t / (1 - b2^t)
//   if r > 5: p = p - lr m / (1 - b1^t) sqrt((r - 4) (r - 2) n / ((n - 4) (n - 2) r)) sqrt(1 - b2^t) / (sqrt(v) + eps)
//   else:     p = p - lr m / (1 - b1^t)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @radam(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !vecs, !vecs, !each) {
  %t1, %rate, %factor = foreach.map (
      %t = %step as f64 : !each, %b1 = %beta1, %b2 = %beta2, %lr = %lr : !num) -> (!each, !each, !each) {
    %one = arith.constant 1.0 : f64
    %t1 = arith.addf %t, %one : f64
    // rate = lr / (1 - pow(b1, t1))
    %rate_1 = math.powf %b1, %t1 : f64
    %rate_2 = arith.subf %one, %rate_1 : f64
    %rate = arith.divf %lr, %rate_2 : f64
    // c2 = 1 - pow(b2, t1)
    %c2_1 = math.powf %b2, %t1 : f64
    %c2 = arith.subf %one, %c2_1 : f64
    // n = 2 / (1 - b2) - 1
    %two = arith.constant 2.0 : f64
    %n_1 = arith.subf %one, %b2 : f64
    %n_2 = arith.divf %two, %n_1 : f64
    %n = arith.subf %n_2, %one : f64
    // r = n - 2 * t1 * (1 - c2) / c2
    %r_1 = arith.mulf %two, %t1 : f64
    %r_2 = arith.subf %one, %c2 : f64
    %r_3 = arith.mulf %r_1, %r_2 : f64
    %r_4 = arith.divf %r_3, %c2 : f64
    %r = arith.subf %n, %r_4 : f64
    // rectified = sqrt((r - 4) * (r - 2) * n / ((n - 4) * (n - 2) * r)) * sqrt(c2)
    %four = arith.constant 4.0 : f64
    %rectified_1 = arith.subf %r, %four : f64
    %rectified_2 = arith.subf %r, %two : f64
    %rectified_3 = arith.mulf %rectified_1, %rectified_2 : f64
    %rectified_4 = arith.mulf %rectified_3, %n : f64
    %rectified_5 = arith.subf %n, %four : f64
    %rectified_6 = arith.subf %n, %two : f64
    %rectified_7 = arith.mulf %rectified_5, %rectified_6 : f64
    %rectified_8 = arith.mulf %rectified_7, %r : f64
    %rectified_9 = arith.divf %rectified_4, %rectified_8 : f64
    %rectified_10 = math.sqrt %rectified_9 : f64
    %rectified_11 = math.sqrt %c2 : f64
    %rectified = arith.mulf %rectified_10, %rectified_11 : f64
    // factor = select(r > 5, rectified, -1.0)
    %c5_0 = arith.constant 5.0 : f64
    %factor_1 = arith.cmpf ogt, %r, %c5_0 : f64
    %minus_one = arith.constant -1.0 : f64
    %factor = arith.select %factor_1, %rectified, %minus_one : f64
    foreach.yield %t1, %rate, %factor : f64, f64, f64
  }
  %p, %m, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %v = %square as !real : !vecs, %rate = %rate,
      %factor = %factor : !each, %b1 = %beta1 as !real, %b2 = %beta2 as !real, %eps = %eps as !real : !num)
      -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + (1 - b1) * g
    %m1_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %m1_2 = arith.subf %one, %b1 : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    // v1 = b2 * v + (1 - b2) * g * g
    %v1_1 = arith.mulf %b2, %v : !real
    %v1_2 = arith.subf %one, %b2 : !real
    %v1_3 = arith.mulf %v1_2, %g : !real
    %v1_4 = arith.mulf %v1_3, %g : !real
    %v1 = arith.addf %v1_1, %v1_4 : !real
    // share = select(factor > 0, factor / (sqrt(v1) + eps), 1.0)
    %zero = arith.constant 0.0 : !real
    %share_1 = arith.cmpf ogt, %factor, %zero : !real
    %share_2 = math.sqrt %v1 : !real
    %share_3 = arith.addf %share_2, %eps : !real
    %share_4 = arith.divf %factor, %share_3 : !real
    %share = arith.select %share_1, %share_4, %one : !real
    // p1 = p - rate * m1 * share
    %p1_1 = arith.mulf %rate, %m1 : !real
    %p1_2 = arith.mulf %p1_1, %share : !real
    %p1 = arith.subf %p, %p1_2 : !real
    foreach.yield %p1, %m1, %v1 : !real, !real, !real
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !vecs, !each
}

// LaProp: momentum of gradients that are scaled already (Ziyin et al., LaProp: Separating Momentum and Adaptivity).
//
//   n = b2 n + (1 - b2) g^2,  m = b1 m + (1 - b1) g / (sqrt(n / (1 - b2^t)) + eps),  p = p - lr m / (1 - b1^t)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @laprop(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 4.0e-4 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-15 : f64}) -> (!vecs, !vecs, !vecs, !each) {
  %t1, %c1, %c2 = foreach.map (%t = %step as f64 : !each, %b1 = %beta1, %b2 = %beta2 : !num) -> (!each, !each, !each) {
    %one = arith.constant 1.0 : f64
    %t1 = arith.addf %t, %one : f64
    // c1 = 1 - pow(b1, t1)
    %c1_1 = math.powf %b1, %t1 : f64
    %c1 = arith.subf %one, %c1_1 : f64
    // c2 = 1 - pow(b2, t1)
    %c2_1 = math.powf %b2, %t1 : f64
    %c2 = arith.subf %one, %c2_1 : f64
    foreach.yield %t1, %c1, %c2 : f64, f64, f64
  }
  %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %p, %m, %n = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %n = %square as !real : !vecs, %c1 = %c1,
      %c2 = %c2 : !each, %lr = %lr as !real, %b1 = %beta1 as !real, %b2 = %beta2 as !real, %w1 = %w1 as !real,
      %w2 = %w2 as !real, %eps = %eps as !real : !num) -> (!vecs, !vecs, !vecs) {
    // n1 = b2 * n + w2 * g * g
    %n1_1 = arith.mulf %b2, %n : !real
    %n1_2 = arith.mulf %w2, %g : !real
    %n1_3 = arith.mulf %n1_2, %g : !real
    %n1 = arith.addf %n1_1, %n1_3 : !real
    // m1 = b1 * m + w1 * g / (sqrt(n1 / c2) + eps)
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = arith.mulf %w1, %g : !real
    %m1_3 = arith.divf %n1, %c2 : !real
    %m1_4 = math.sqrt %m1_3 : !real
    %m1_5 = arith.addf %m1_4, %eps : !real
    %m1_6 = arith.divf %m1_2, %m1_5 : !real
    %m1 = arith.addf %m1_1, %m1_6 : !real
    // p1 = p - lr * m1 / c1
    %p1_1 = arith.mulf %lr, %m1 : !real
    %p1_2 = arith.divf %p1_1, %c1 : !real
    %p1 = arith.subf %p, %p1_2 : !real
    foreach.yield %p1, %m1, %n1 : !real, !real, !real
  }
  return %p, %m, %n, %t1 : !vecs, !vecs, !vecs, !each
}

// NAdam: Adam with Nesterov momentum, whose weight grows (Dozat, Incorporating Nesterov Momentum into Adam).
//
//   mu(t) = b1 (1 - 0.96^(0.004 t) / 2),  M = mu(1) ... mu(t)
//   u = mu(t + 1) m / (1 - M mu(t + 1)) + (1 - mu(t)) g / (1 - M),  p = p - lr u / (sqrt(v / (1 - b2^t)) + eps)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @nadam(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %product: !each {foreach.donate = 4 : i64, foreach.initial = 1.0 : !real},
    %lr: !num {foreach.default = 2.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !vecs, !vecs, !each, !each) {
  %t1, %product1, %cm, %cg, %c2 = foreach.map (
      %t = %step as f64, %product = %product as f64 : !each, %b1 = %beta1, %b2 = %beta2 : !num)
      -> (!each, !each, !each, !each, !each) {
    %one = arith.constant 1.0 : f64
    %t1 = arith.addf %t, %one : f64
    // mu = b1 * (1 - 0.5 * pow(0.96, 0.004 * t1))
    %half = arith.constant 0.5 : f64
    %c0_96 = arith.constant 0.96 : f64
    %c0_004 = arith.constant 0.004 : f64
    %mu_1 = arith.mulf %c0_004, %t1 : f64
    %mu_2 = math.powf %c0_96, %mu_1 : f64
    %mu_3 = arith.mulf %half, %mu_2 : f64
    %mu_4 = arith.subf %one, %mu_3 : f64
    %mu = arith.mulf %b1, %mu_4 : f64
    // next = b1 * (1 - 0.5 * pow(0.96, 0.004 * (t1 + 1)))
    %next_1 = arith.addf %t1, %one : f64
    %next_2 = arith.mulf %c0_004, %next_1 : f64
    %next_3 = math.powf %c0_96, %next_2 : f64
    %next_4 = arith.mulf %half, %next_3 : f64
    %next_5 = arith.subf %one, %next_4 : f64
    %next = arith.mulf %b1, %next_5 : f64
    %product1 = arith.mulf %product, %mu : f64
    // cm = next / (1 - product1 * next)
    %cm_1 = arith.mulf %product1, %next : f64
    %cm_2 = arith.subf %one, %cm_1 : f64
    %cm = arith.divf %next, %cm_2 : f64
    // cg = (1 - mu) / (1 - product1)
    %cg_1 = arith.subf %one, %mu : f64
    %cg_2 = arith.subf %one, %product1 : f64
    %cg = arith.divf %cg_1, %cg_2 : f64
    // c2 = 1 - pow(b2, t1)
    %c2_1 = math.powf %b2, %t1 : f64
    %c2 = arith.subf %one, %c2_1 : f64
    foreach.yield %t1, %product1, %cm, %cg, %c2 : f64, f64, f64, f64, f64
  }
  %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %p, %m, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %v = %square as !real : !vecs, %cm = %cm,
      %cg = %cg, %c2 = %c2 : !each, %lr = %lr as !real, %b1 = %beta1 as !real, %b2 = %beta2 as !real,
      %w1 = %w1 as !real, %w2 = %w2 as !real, %eps = %eps as !real : !num) -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + w1 * g
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = arith.mulf %w1, %g : !real
    %m1 = arith.addf %m1_1, %m1_2 : !real
    // v1 = b2 * v + w2 * g * g
    %v1_1 = arith.mulf %b2, %v : !real
    %v1_2 = arith.mulf %w2, %g : !real
    %v1_3 = arith.mulf %v1_2, %g : !real
    %v1 = arith.addf %v1_1, %v1_3 : !real
    // p1 = p - lr * (cm * m1 + cg * g) / (sqrt(v1 / c2) + eps)
    %p1_1 = arith.mulf %cm, %m1 : !real
    %p1_2 = arith.mulf %cg, %g : !real
    %p1_3 = arith.addf %p1_1, %p1_2 : !real
    %p1_4 = arith.mulf %lr, %p1_3 : !real
    %p1_5 = arith.divf %v1, %c2 : !real
    %p1_6 = math.sqrt %p1_5 : !real
    %p1_7 = arith.addf %p1_6, %eps : !real
    %p1_8 = arith.divf %p1_4, %p1_7 : !real
    %p1 = arith.subf %p, %p1_8 : !real
    foreach.yield %p1, %m1, %v1 : !real, !real, !real
  }
  return %p, %m, %v, %t1, %product1 : !vecs, !vecs, !vecs, !each, !each
}

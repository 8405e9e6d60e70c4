// MARS: AdamW on gradients with a correction by their change, clipped to norm 1 (Yuan et al., MARS: Unleashing the
// Power of Variance Reduction for Training Large Models).
//
//   c = g + gamma b1 / (1 - b1) (g - previous g),  c = c / max(1, |c|)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @mars(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %previous: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %mean: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 3 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 4 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 3.0e-3 : f64},
    %beta1: !num {foreach.default = 0.95 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %gamma: !num {foreach.default = 0.025 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64},
    %decay: !num {foreach.default = 0.1 : f64}) -> (!vecs, !vecs, !vecs, !vecs, !each) {
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
  %factor, %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2, %gamma = %gamma : !num) -> (!num, !num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    // factor = gamma * b1 / w1
    %factor_1 = arith.mulf %gamma, %b1 : f64
    %factor = arith.divf %factor_1, %w1 : f64
    foreach.yield %factor, %w1, %w2 : f64, f64, f64
  }
  %squares = foreach.reduce add along member (
      %g = %grad as !real, %last = %previous as !real : !vecs, %factor = %factor as !real : !num) -> !each {
    // c = g + factor * (g - last)
    %c_1 = arith.subf %g, %last : !real
    %c_2 = arith.mulf %factor, %c_1 : !real
    %c = arith.addf %g, %c_2 : !real
    %c2 = arith.mulf %c, %c : !real
    foreach.yield %c2 : !real
  }
  %p, %last, %m, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %last = %previous as !real, %m = %mean as !real,
      %v = %square as !real : !vecs, %squares = %squares, %c1 = %c1, %c2 = %c2 : !each, %factor = %factor as !real,
      %lr = %lr as !real, %b1 = %beta1 as !real, %b2 = %beta2 as !real, %w1 = %w1 as !real, %w2 = %w2 as !real,
      %eps = %eps as !real, %wd = %decay as !real : !num) -> (!vecs, !vecs, !vecs, !vecs) {
    // c = (g + factor * (g - last)) / max(sqrt(squares), 1)
    %c_1 = arith.subf %g, %last : !real
    %c_2 = arith.mulf %factor, %c_1 : !real
    %c_3 = arith.addf %g, %c_2 : !real
    %c_4 = math.sqrt %squares : !real
    %one = arith.constant 1.0 : !real
    %c_5 = arith.maximumf %c_4, %one : !real
    %c = arith.divf %c_3, %c_5 : !real
    // m1 = b1 * m + w1 * c
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = arith.mulf %w1, %c : !real
    %m1 = arith.addf %m1_1, %m1_2 : !real
    // v1 = b2 * v + w2 * c * c
    %v1_1 = arith.mulf %b2, %v : !real
    %v1_2 = arith.mulf %w2, %c : !real
    %v1_3 = arith.mulf %v1_2, %c : !real
    %v1 = arith.addf %v1_1, %v1_3 : !real
    // p1 = p - lr * (m1 / c1 / (sqrt(v1 / c2) + eps) + wd * p)
    %p1_1 = arith.divf %m1, %c1 : !real
    %p1_2 = arith.divf %v1, %c2 : !real
    %p1_3 = math.sqrt %p1_2 : !real
    %p1_4 = arith.addf %p1_3, %eps : !real
    %p1_5 = arith.divf %p1_1, %p1_4 : !real
    %p1_6 = arith.mulf %wd, %p : !real
    %p1_7 = arith.addf %p1_5, %p1_6 : !real
    %p1_8 = arith.mulf %lr, %p1_7 : !real
    %p1 = arith.subf %p, %p1_8 : !real
    foreach.yield %p1, %g, %m1, %v1 : !real, !real, !real, !real
  }
  return %p, %last, %m, %v, %t1 : !vecs, !vecs, !vecs, !vecs, !each
}

// AdEMAMix: Adam with a second, slower mean (Pagliardini et al., The AdEMAMix Optimizer: Better, Faster, Older).
//
//   p = p - lr ((m1 / (1 - b1^t) + alpha m2) / (sqrt(v / (1 - b2^t)) + eps) + wd p)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @ademamix(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %fast: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %slow: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 3 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 4 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.999 : f64},
    %beta3: !num {foreach.default = 0.9999 : f64},
    %alpha: !num {foreach.default = 5.0 : f64},
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
  %w1, %w2, %w3 = foreach.map (%b1 = %beta1, %b2 = %beta2, %b3 = %beta3 : !num) -> (!num, !num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    %w3 = arith.subf %one, %b3 : f64
    foreach.yield %w1, %w2, %w3 : f64, f64, f64
  }
  %p, %f, %s, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %f = %fast as !real, %s = %slow as !real,
      %v = %square as !real : !vecs, %c1 = %c1, %c2 = %c2 : !each, %lr = %lr as !real, %b1 = %beta1 as !real,
      %b2 = %beta2 as !real, %b3 = %beta3 as !real, %w1 = %w1 as !real, %w2 = %w2 as !real, %w3 = %w3 as !real,
      %alpha = %alpha as !real, %eps = %eps as !real, %wd = %decay as !real : !num) -> (!vecs, !vecs, !vecs, !vecs) {
    // f1 = b1 * f + w1 * g
    %f1_1 = arith.mulf %b1, %f : !real
    %f1_2 = arith.mulf %w1, %g : !real
    %f1 = arith.addf %f1_1, %f1_2 : !real
    // s1 = b3 * s + w3 * g
    %s1_1 = arith.mulf %b3, %s : !real
    %s1_2 = arith.mulf %w3, %g : !real
    %s1 = arith.addf %s1_1, %s1_2 : !real
    // v1 = b2 * v + w2 * g * g
    %v1_1 = arith.mulf %b2, %v : !real
    %v1_2 = arith.mulf %w2, %g : !real
    %v1_3 = arith.mulf %v1_2, %g : !real
    %v1 = arith.addf %v1_1, %v1_3 : !real
    // u = (f1 / c1 + alpha * s1) / (sqrt(v1 / c2) + eps)
    %u_1 = arith.divf %f1, %c1 : !real
    %u_2 = arith.mulf %alpha, %s1 : !real
    %u_3 = arith.addf %u_1, %u_2 : !real
    %u_4 = arith.divf %v1, %c2 : !real
    %u_5 = math.sqrt %u_4 : !real
    %u_6 = arith.addf %u_5, %eps : !real
    %u = arith.divf %u_3, %u_6 : !real
    // p1 = p - lr * (u + wd * p)
    %p1_1 = arith.mulf %wd, %p : !real
    %p1_2 = arith.addf %u, %p1_1 : !real
    %p1_3 = arith.mulf %lr, %p1_2 : !real
    %p1 = arith.subf %p, %p1_3 : !real
    foreach.yield %p1, %f1, %s1, %v1 : !real, !real, !real, !real
  }
  return %p, %f, %s, %v, %t1 : !vecs, !vecs, !vecs, !vecs, !each
}

// LAMB: Adam with a trust ratio (You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes).
//
//   u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd p,  p = p - lr |p| / |u| u

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!reals = !foreach.list<tensor<?x!real>> // values between two maps
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @lamb(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-6 : f64},
    %decay: !num {foreach.default = 0.01 : f64}) -> (!vecs, !vecs, !vecs, !each) {
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
  %u, %m, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %v = %square as !real : !vecs, %c1 = %c1,
      %c2 = %c2 : !each, %b1 = %beta1 as !real, %b2 = %beta2 as !real, %w1 = %w1 as !real, %w2 = %w2 as !real,
      %eps = %eps as !real, %wd = %decay as !real : !num) -> (!reals, !vecs, !vecs) {
    // m1 = b1 * m + w1 * g
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = arith.mulf %w1, %g : !real
    %m1 = arith.addf %m1_1, %m1_2 : !real
    // v1 = b2 * v + w2 * g * g
    %v1_1 = arith.mulf %b2, %v : !real
    %v1_2 = arith.mulf %w2, %g : !real
    %v1_3 = arith.mulf %v1_2, %g : !real
    %v1 = arith.addf %v1_1, %v1_3 : !real
    // u = m1 / c1 / (sqrt(v1 / c2) + eps) + wd * p
    %u_1 = arith.divf %m1, %c1 : !real
    %u_2 = arith.divf %v1, %c2 : !real
    %u_3 = math.sqrt %u_2 : !real
    %u_4 = arith.addf %u_3, %eps : !real
    %u_5 = arith.divf %u_1, %u_4 : !real
    %u_6 = arith.mulf %wd, %p : !real
    %u = arith.addf %u_5, %u_6 : !real
    foreach.yield %u, %m1, %v1 : !real, !real, !real
  }
  %p2 = foreach.reduce add along member (%p = %param as !real : !vecs) -> !each {
    %p2 = arith.mulf %p, %p : !real
    foreach.yield %p2 : !real
  }
  %u2 = foreach.reduce add along member (%u = %u : !reals) -> !each {
    %u2 = arith.mulf %u, %u : !real
    foreach.yield %u2 : !real
  }
  %p = foreach.map (
      %p = %param as !real : !vecs, %u = %u : !reals, %p2 = %p2, %u2 = %u2 : !each, %lr = %lr as !real : !num)
      -> !vecs {
    // both = p2 > 0 and u2 > 0
    %zero = arith.constant 0.0 : !real
    %both_1 = arith.cmpf ogt, %p2, %zero : !real
    %both_2 = arith.cmpf ogt, %u2, %zero : !real
    %both = arith.andi %both_1, %both_2 : i1
    // trust = select(both, sqrt(p2) / sqrt(u2), 1.0)
    %trust_1 = math.sqrt %p2 : !real
    %trust_2 = math.sqrt %u2 : !real
    %trust_3 = arith.divf %trust_1, %trust_2 : !real
    %one = arith.constant 1.0 : !real
    %trust = arith.select %both, %trust_3, %one : !real
    // p1 = p - lr * trust * u
    %p1_1 = arith.mulf %lr, %trust : !real
    %p1_2 = arith.mulf %p1_1, %u : !real
    %p1 = arith.subf %p, %p1_2 : !real
    foreach.yield %p1 : !real
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !vecs, !each
}

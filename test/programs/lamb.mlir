// LAMB: Adam with a trust ratio (You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes).
//
//   u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd p,  p = p - lr |p| / |u| u

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @lamb(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
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
      %p = %param, %g = %grad, %m = %mean, %v = %square : !vecs, %c1 = %c1, %c2 = %c2 : !each, %b1 = %beta1 as f32,
      %b2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %eps = %eps as f32, %wd = %decay as f32 : !num)
      -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + w1 * g
    %m1_1 = arith.mulf %b1, %m : f32
    %m1_2 = arith.mulf %w1, %g : f32
    %m1 = arith.addf %m1_1, %m1_2 : f32
    // v1 = b2 * v + w2 * g * g
    %v1_1 = arith.mulf %b2, %v : f32
    %v1_2 = arith.mulf %w2, %g : f32
    %v1_3 = arith.mulf %v1_2, %g : f32
    %v1 = arith.addf %v1_1, %v1_3 : f32
    // u = m1 / c1 / (sqrt(v1 / c2) + eps) + wd * p
    %u_1 = arith.divf %m1, %c1 : f32
    %u_2 = arith.divf %v1, %c2 : f32
    %u_3 = math.sqrt %u_2 : f32
    %u_4 = arith.addf %u_3, %eps : f32
    %u_5 = arith.divf %u_1, %u_4 : f32
    %u_6 = arith.mulf %wd, %p : f32
    %u = arith.addf %u_5, %u_6 : f32
    foreach.yield %u, %m1, %v1 : f32, f32, f32
  }
  %p2 = foreach.reduce add along member (%p = %param : !vecs) -> !each {
    %p2 = arith.mulf %p, %p : f32
    foreach.yield %p2 : f32
  }
  %u2 = foreach.reduce add along member (%u = %u : !vecs) -> !each {
    %u2 = arith.mulf %u, %u : f32
    foreach.yield %u2 : f32
  }
  %p = foreach.map (
      %p = %param, %u = %u : !vecs, %p2 = %p2, %u2 = %u2 : !each, %lr = %lr as f32 : !num) -> !vecs {
    // both = p2 > 0 and u2 > 0
    %zero = arith.constant 0.0 : f32
    %both_1 = arith.cmpf ogt, %p2, %zero : f32
    %both_2 = arith.cmpf ogt, %u2, %zero : f32
    %both = arith.andi %both_1, %both_2 : i1
    // trust = select(both, sqrt(p2) / sqrt(u2), 1.0)
    %trust_1 = math.sqrt %p2 : f32
    %trust_2 = math.sqrt %u2 : f32
    %trust_3 = arith.divf %trust_1, %trust_2 : f32
    %one = arith.constant 1.0 : f32
    %trust = arith.select %both, %trust_3, %one : f32
    // p1 = p - lr * trust * u
    %p1_1 = arith.mulf %lr, %trust : f32
    %p1_2 = arith.mulf %p1_1, %u : f32
    %p1 = arith.subf %p, %p1_2 : f32
    foreach.yield %p1 : f32
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !vecs, !each
}

// Adam-mini: one second moment for each row of a matrix (Zhang et al., Adam-mini: Use Fewer Learning Rates To Gain More).
//
//   v = b2 v + (1 - b2) mean over j of g^2

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @adam_mini(
    %param: !mats {foreach.donate = 0 : i64},
    %grad: !mats,
    %mean: !mats {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.95 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!mats, !mats, !vecs, !each) {
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
  %sum = foreach.reduce add along j (%g = %grad[i, j] : !mats) -> !vecs {
    %g2 = arith.mulf %g, %g : f32
    foreach.yield %g2 : f32
  }
  %count = foreach.reduce add along j (%g = %grad[i, j] : !mats) -> !vecs {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %v = foreach.map (%v = %square, %s = %sum, %n = %count : !vecs, %b2 = %beta2 as f32 : !num) -> !vecs {
    // v1 = b2 * v + (1 - b2) * s / n
    %v1_1 = arith.mulf %b2, %v : f32
    %one = arith.constant 1.0 : f32
    %v1_2 = arith.subf %one, %b2 : f32
    %v1_3 = arith.mulf %v1_2, %s : f32
    %v1_4 = arith.divf %v1_3, %n : f32
    %v1 = arith.addf %v1_1, %v1_4 : f32
    foreach.yield %v1 : f32
  }
  %p, %m = foreach.map (
      %p = %param[i, j], %g = %grad[i, j], %m = %mean[i, j] : !mats, %v = %v[i] : !vecs, %c1 = %c1, %c2 = %c2 : !each,
      %lr = %lr as f32, %b1 = %beta1 as f32, %eps = %eps as f32 : !num) -> (!mats, !mats) {
    // m1 = b1 * m + (1 - b1) * g
    %m1_1 = arith.mulf %b1, %m : f32
    %one = arith.constant 1.0 : f32
    %m1_2 = arith.subf %one, %b1 : f32
    %m1_3 = arith.mulf %m1_2, %g : f32
    %m1 = arith.addf %m1_1, %m1_3 : f32
    // p1 = p - lr * (m1 / c1) / (sqrt(v / c2) + eps)
    %p1_1 = arith.divf %m1, %c1 : f32
    %p1_2 = arith.mulf %lr, %p1_1 : f32
    %p1_3 = arith.divf %v, %c2 : f32
    %p1_4 = math.sqrt %p1_3 : f32
    %p1_5 = arith.addf %p1_4, %eps : f32
    %p1_6 = arith.divf %p1_2, %p1_5 : f32
    %p1 = arith.subf %p, %p1_6 : f32
    foreach.yield %p1, %m1 : f32, f32
  }
  return %p, %m, %v, %t1 : !mats, !mats, !vecs, !each
}

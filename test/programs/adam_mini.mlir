// Adam-mini: one second moment for each row of a matrix (Zhang et al., Adam-mini: Use Fewer Learning Rates To Gain
// More).
//
//   v = b2 v + (1 - b2) mean over j of g^2

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @adam_mini(
    %param: !mats {foreach.donate = 0 : i64},
    %grad: !mats,
    %mean: !mats {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !real},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
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
  %mean_square = foreach.reduce mean along j (%g = %grad[i, j] as !real : !mats) -> !vecs {
    %g2 = arith.mulf %g, %g : !real
    foreach.yield %g2 : !real
  }
  %v = foreach.map (%v = %square, %s = %mean_square : !vecs, %b2 = %beta2 as !real : !num) -> !vecs {
    // v1 = b2 * v + (1 - b2) * s
    %v1_1 = arith.mulf %b2, %v : !real
    %one = arith.constant 1.0 : !real
    %v1_2 = arith.subf %one, %b2 : !real
    %v1_3 = arith.mulf %v1_2, %s : !real
    %v1 = arith.addf %v1_1, %v1_3 : !real
    foreach.yield %v1 : !real
  }
  %p, %m = foreach.map (
      %p = %param[i, j] as !real, %g = %grad[i, j] as !real, %m = %mean[i, j] as !real : !mats, %v = %v[i] : !vecs,
      %c1 = %c1, %c2 = %c2 : !each, %lr = %lr as !real, %b1 = %beta1 as !real, %eps = %eps as !real : !num)
      -> (!mats, !mats) {
    // m1 = b1 * m + (1 - b1) * g
    %m1_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %m1_2 = arith.subf %one, %b1 : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    // p1 = p - lr * (m1 / c1) / (sqrt(v / c2) + eps)
    %p1_1 = arith.divf %m1, %c1 : !real
    %p1_2 = arith.mulf %lr, %p1_1 : !real
    %p1_3 = arith.divf %v, %c2 : !real
    %p1_4 = math.sqrt %p1_3 : !real
    %p1_5 = arith.addf %p1_4, %eps : !real
    %p1_6 = arith.divf %p1_2, %p1_5 : !real
    %p1 = arith.subf %p, %p1_6 : !real
    foreach.yield %p1, %m1 : !real, !real
  }
  return %p, %m, %v, %t1 : !mats, !mats, !vecs, !each
}

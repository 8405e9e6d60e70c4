// NovoGrad: one second moment for each tensor (Ginsburg et al., Stochastic Gradient Methods with Layer-wise Adaptive
// Moments).
//
//   v = |g|^2 in the first step, b2 v + (1 - b2) |g|^2 then,  m = b1 m + g / (sqrt(v) + eps) + wd p,  p = p - lr m

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @novograd(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %square: !each {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta1: !num {foreach.default = 0.95 : f64},
    %beta2: !num {foreach.default = 0.98 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64},
    %decay: !num {foreach.default = 1.0e-3 : f64}) -> (!vecs, !vecs, !each, !each) {
  %g2 = foreach.reduce add along member (%g = %grad : !vecs) -> !each {
    %g2 = arith.mulf %g, %g : f32
    foreach.yield %g2 : f32
  }
  %v, %t1 = foreach.map (%v = %square, %g2 = %g2, %t = %step : !each, %b2 = %beta2 as f32 : !num) -> (!each, !each) {
    // v1 = select(t == 0, g2, b2 * v + (1 - b2) * g2)
    %zero = arith.constant 0.0 : f32
    %v1_1 = arith.cmpf oeq, %t, %zero : f32
    %v1_2 = arith.mulf %b2, %v : f32
    %one = arith.constant 1.0 : f32
    %v1_3 = arith.subf %one, %b2 : f32
    %v1_4 = arith.mulf %v1_3, %g2 : f32
    %v1_5 = arith.addf %v1_2, %v1_4 : f32
    %v1 = arith.select %v1_1, %g2, %v1_5 : f32
    %t1 = arith.addf %t, %one : f32
    foreach.yield %v1, %t1 : f32, f32
  }
  %p, %m = foreach.map (
      %p = %param, %g = %grad, %m = %mean : !vecs, %v = %v : !each, %lr = %lr as f32, %b1 = %beta1 as f32,
      %eps = %eps as f32, %wd = %decay as f32 : !num) -> (!vecs, !vecs) {
    // m1 = b1 * m + (g / (sqrt(v) + eps) + wd * p)
    %m1_1 = arith.mulf %b1, %m : f32
    %m1_2 = math.sqrt %v : f32
    %m1_3 = arith.addf %m1_2, %eps : f32
    %m1_4 = arith.divf %g, %m1_3 : f32
    %m1_5 = arith.mulf %wd, %p : f32
    %m1_6 = arith.addf %m1_4, %m1_5 : f32
    %m1 = arith.addf %m1_1, %m1_6 : f32
    // p1 = p - lr * m1
    %p1_1 = arith.mulf %lr, %m1 : f32
    %p1 = arith.subf %p, %p1_1 : f32
    foreach.yield %p1, %m1 : f32, f32
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !each, !each
}

// NovoGrad: one second moment for each tensor (Ginsburg et al., Stochastic Gradient Methods with Layer-wise Adaptive
// Moments).
//
//   v = |g|^2 in the first step, b2 v + (1 - b2) |g|^2 then,  m = b1 m + g / (sqrt(v) + eps) + wd p,  p = p - lr m

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @novograd(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !each {foreach.donate = 2 : i64, foreach.initial = 0.0 : !real},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta1: !num {foreach.default = 0.95 : f64},
    %beta2: !num {foreach.default = 0.98 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64},
    %decay: !num {foreach.default = 1.0e-3 : f64}) -> (!vecs, !vecs, !each, !each) {
  %g2 = foreach.reduce add along member (%g = %grad as !real : !vecs) -> !each {
    %g2 = arith.mulf %g, %g : !real
    foreach.yield %g2 : !real
  }
  %v, %t1 = foreach.map (%v = %square, %g2 = %g2, %t = %step : !each, %b2 = %beta2 as !real : !num) -> (!each, !each) {
    // v1 = select(t == 0, g2, b2 * v + (1 - b2) * g2)
    %zero = arith.constant 0.0 : !real
    %v1_1 = arith.cmpf oeq, %t, %zero : !real
    %v1_2 = arith.mulf %b2, %v : !real
    %one = arith.constant 1.0 : !real
    %v1_3 = arith.subf %one, %b2 : !real
    %v1_4 = arith.mulf %v1_3, %g2 : !real
    %v1_5 = arith.addf %v1_2, %v1_4 : !real
    %v1 = arith.select %v1_1, %g2, %v1_5 : !real
    %t1 = arith.addf %t, %one : !real
    foreach.yield %v1, %t1 : !real, !real
  }
  %p, %m = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real : !vecs, %v = %v : !each, %lr = %lr as !real,
      %b1 = %beta1 as !real, %eps = %eps as !real, %wd = %decay as !real : !num) -> (!vecs, !vecs) {
    // m1 = b1 * m + (g / (sqrt(v) + eps) + wd * p)
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = math.sqrt %v : !real
    %m1_3 = arith.addf %m1_2, %eps : !real
    %m1_4 = arith.divf %g, %m1_3 : !real
    %m1_5 = arith.mulf %wd, %p : !real
    %m1_6 = arith.addf %m1_4, %m1_5 : !real
    %m1 = arith.addf %m1_1, %m1_6 : !real
    // p1 = p - lr * m1
    %p1_1 = arith.mulf %lr, %m1 : !real
    %p1 = arith.subf %p, %p1_1 : !real
    foreach.yield %p1, %m1 : !real, !real
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !each, !each
}

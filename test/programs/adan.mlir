// Adan: moments of the gradient and of its change (Xie et al., Adan: Adaptive Nesterov Momentum Algorithm).
//
//   d = g - previous g (0 in the first step),  m = (1 - b1) m + b1 g,  v = (1 - b2) v + b2 d
//   n = (1 - b3) n + b3 (g + (1 - b2) d)^2,    p = (p - lr (m + (1 - b2) v) / (sqrt(n) + eps)) / (1 + lr wd)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @adan(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %change: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 3 : i64, foreach.initial = 0.0 : !element},
    %previous: !vecs {foreach.donate = 4 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 5 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.02 : f64},
    %beta2: !num {foreach.default = 0.08 : f64},
    %beta3: !num {foreach.default = 0.01 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64},
    %decay: !num {foreach.default = 0.02 : f64}) -> (!vecs, !vecs, !vecs, !vecs, !vecs, !each) {
  %p, %m, %v, %n, %last = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %v = %change as !real, %n = %square as !real,
      %last = %previous as !real : !vecs, %t = %step : !each, %lr = %lr as !real, %b1 = %beta1 as !real,
      %b2 = %beta2 as !real, %b3 = %beta3 as !real, %eps = %eps as !real, %wd = %decay as !real : !num)
      -> (!vecs, !vecs, !vecs, !vecs, !vecs) {
    // d = select(t == 0, 0.0, g - last)
    %zero = arith.constant 0.0 : !real
    %d_1 = arith.cmpf oeq, %t, %zero : !real
    %d_2 = arith.subf %g, %last : !real
    %d = arith.select %d_1, %zero, %d_2 : !real
    // m1 = (1 - b1) * m + b1 * g
    %one = arith.constant 1.0 : !real
    %m1_1 = arith.subf %one, %b1 : !real
    %m1_2 = arith.mulf %m1_1, %m : !real
    %m1_3 = arith.mulf %b1, %g : !real
    %m1 = arith.addf %m1_2, %m1_3 : !real
    // v1 = (1 - b2) * v + b2 * d
    %v1_1 = arith.subf %one, %b2 : !real
    %v1_2 = arith.mulf %v1_1, %v : !real
    %v1_3 = arith.mulf %b2, %d : !real
    %v1 = arith.addf %v1_2, %v1_3 : !real
    // look = g + (1 - b2) * d
    %look_1 = arith.subf %one, %b2 : !real
    %look_2 = arith.mulf %look_1, %d : !real
    %look = arith.addf %g, %look_2 : !real
    // n1 = (1 - b3) * n + b3 * look * look
    %n1_1 = arith.subf %one, %b3 : !real
    %n1_2 = arith.mulf %n1_1, %n : !real
    %n1_3 = arith.mulf %b3, %look : !real
    %n1_4 = arith.mulf %n1_3, %look : !real
    %n1 = arith.addf %n1_2, %n1_4 : !real
    // u = (m1 + (1 - b2) * v1) / (sqrt(n1) + eps)
    %u_1 = arith.subf %one, %b2 : !real
    %u_2 = arith.mulf %u_1, %v1 : !real
    %u_3 = arith.addf %m1, %u_2 : !real
    %u_4 = math.sqrt %n1 : !real
    %u_5 = arith.addf %u_4, %eps : !real
    %u = arith.divf %u_3, %u_5 : !real
    // p1 = (p - lr * u) / (1 + lr * wd)
    %p1_1 = arith.mulf %lr, %u : !real
    %p1_2 = arith.subf %p, %p1_1 : !real
    %p1_3 = arith.mulf %lr, %wd : !real
    %p1_4 = arith.addf %one, %p1_3 : !real
    %p1 = arith.divf %p1_2, %p1_4 : !real
    foreach.yield %p1, %m1, %v1, %n1, %g : !real, !real, !real, !real, !real
  }
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : !real
    %t1 = arith.addf %t, %one : !real
    foreach.yield %t1 : !real
  }
  return %p, %m, %v, %n, %last, %t1 : !vecs, !vecs, !vecs, !vecs, !vecs, !each
}

// Adan: moments of the gradient and of its change (Xie et al., Adan: Adaptive Nesterov Momentum Algorithm).
//
//   d = g - previous g (0 in the first step),  m = (1 - b1) m + b1 g,  v = (1 - b2) v + b2 d
//   n = (1 - b3) n + b3 (g + (1 - b2) d)^2,    p = (p - lr (m + (1 - b2) v) / (sqrt(n) + eps)) / (1 + lr wd)

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @adan(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %change: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %square: !vecs {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %previous: !vecs {foreach.donate = 4 : i64, foreach.initial = 0.0 : f32},
    %step: !each {foreach.donate = 5 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.02 : f64},
    %beta2: !num {foreach.default = 0.08 : f64},
    %beta3: !num {foreach.default = 0.01 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64},
    %decay: !num {foreach.default = 0.02 : f64}) -> (!vecs, !vecs, !vecs, !vecs, !vecs, !each) {
  %p, %m, %v, %n, %last = foreach.map (
      %p = %param, %g = %grad, %m = %mean, %v = %change, %n = %square, %last = %previous : !vecs, %t = %step : !each,
      %lr = %lr as f32, %b1 = %beta1 as f32, %b2 = %beta2 as f32, %b3 = %beta3 as f32, %eps = %eps as f32,
      %wd = %decay as f32 : !num) -> (!vecs, !vecs, !vecs, !vecs, !vecs) {
    // d = select(t == 0, 0.0, g - last)
    %zero = arith.constant 0.0 : f32
    %d_1 = arith.cmpf oeq, %t, %zero : f32
    %d_2 = arith.subf %g, %last : f32
    %d = arith.select %d_1, %zero, %d_2 : f32
    // m1 = (1 - b1) * m + b1 * g
    %one = arith.constant 1.0 : f32
    %m1_1 = arith.subf %one, %b1 : f32
    %m1_2 = arith.mulf %m1_1, %m : f32
    %m1_3 = arith.mulf %b1, %g : f32
    %m1 = arith.addf %m1_2, %m1_3 : f32
    // v1 = (1 - b2) * v + b2 * d
    %v1_1 = arith.subf %one, %b2 : f32
    %v1_2 = arith.mulf %v1_1, %v : f32
    %v1_3 = arith.mulf %b2, %d : f32
    %v1 = arith.addf %v1_2, %v1_3 : f32
    // look = g + (1 - b2) * d
    %look_1 = arith.subf %one, %b2 : f32
    %look_2 = arith.mulf %look_1, %d : f32
    %look = arith.addf %g, %look_2 : f32
    // n1 = (1 - b3) * n + b3 * look * look
    %n1_1 = arith.subf %one, %b3 : f32
    %n1_2 = arith.mulf %n1_1, %n : f32
    %n1_3 = arith.mulf %b3, %look : f32
    %n1_4 = arith.mulf %n1_3, %look : f32
    %n1 = arith.addf %n1_2, %n1_4 : f32
    // u = (m1 + (1 - b2) * v1) / (sqrt(n1) + eps)
    %u_1 = arith.subf %one, %b2 : f32
    %u_2 = arith.mulf %u_1, %v1 : f32
    %u_3 = arith.addf %m1, %u_2 : f32
    %u_4 = math.sqrt %n1 : f32
    %u_5 = arith.addf %u_4, %eps : f32
    %u = arith.divf %u_3, %u_5 : f32
    // p1 = (p - lr * u) / (1 + lr * wd)
    %p1_1 = arith.mulf %lr, %u : f32
    %p1_2 = arith.subf %p, %p1_1 : f32
    %p1_3 = arith.mulf %lr, %wd : f32
    %p1_4 = arith.addf %one, %p1_3 : f32
    %p1 = arith.divf %p1_2, %p1_4 : f32
    foreach.yield %p1, %m1, %v1, %n1, %g : f32, f32, f32, f32, f32
  }
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    foreach.yield %t1 : f32
  }
  return %p, %m, %v, %n, %last, %t1 : !vecs, !vecs, !vecs, !vecs, !vecs, !each
}

// ADOPT: Adam whose second moment does not contain the gradient that it divides. The first step only stores the
// square (Taniguchi et al., ADOPT: Modified Adam Can Converge with Any beta2 with the Optimal Rate).
//
//   m = b1 m + (1 - b1) clip(g / max(sqrt(v), eps), t^(1/4)),  p = p - lr m,  v = b2 v + (1 - b2) g^2

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @adopt(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.9999 : f64},
    %eps: !num {foreach.default = 1.0e-6 : f64}) -> (!vecs, !vecs, !vecs, !each) {
  %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %p, %m, %v = foreach.map (
      %p = %param, %g = %grad, %m = %mean, %v = %square : !vecs, %t = %step : !each, %lr = %lr as f32,
      %b1 = %beta1 as f32, %b2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %eps = %eps as f32 : !num)
      -> (!vecs, !vecs, !vecs) {
    %zero = arith.constant 0.0 : f32
    %first = arith.cmpf oeq, %t, %zero : f32
    // bound = sqrt(sqrt(t))
    %bound_1 = math.sqrt %t : f32
    %bound = math.sqrt %bound_1 : f32
    // u = min(max(g / max(sqrt(v), eps), -bound), bound)
    %u_1 = math.sqrt %v : f32
    %u_2 = arith.maximumf %u_1, %eps : f32
    %u_3 = arith.divf %g, %u_2 : f32
    %u_4 = arith.negf %bound : f32
    %u_5 = arith.maximumf %u_3, %u_4 : f32
    %u = arith.minimumf %u_5, %bound : f32
    // m1 = select(first, m, b1 * m + w1 * u)
    %m1_1 = arith.mulf %b1, %m : f32
    %m1_2 = arith.mulf %w1, %u : f32
    %m1_3 = arith.addf %m1_1, %m1_2 : f32
    %m1 = arith.select %first, %m, %m1_3 : f32
    // p1 = select(first, p, p - lr * m1)
    %p1_1 = arith.mulf %lr, %m1 : f32
    %p1_2 = arith.subf %p, %p1_1 : f32
    %p1 = arith.select %first, %p, %p1_2 : f32
    // v1 = select(first, g * g, b2 * v + w2 * g * g)
    %v1_1 = arith.mulf %g, %g : f32
    %v1_2 = arith.mulf %b2, %v : f32
    %v1_3 = arith.mulf %w2, %g : f32
    %v1_4 = arith.mulf %v1_3, %g : f32
    %v1_5 = arith.addf %v1_2, %v1_4 : f32
    %v1 = arith.select %first, %v1_1, %v1_5 : f32
    foreach.yield %p1, %m1, %v1 : f32, f32, f32
  }
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    foreach.yield %t1 : f32
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !vecs, !each
}

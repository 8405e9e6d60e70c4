// ADOPT: Adam whose second moment does not contain the gradient that it divides. The first step only stores the
// square (Taniguchi et al., ADOPT: Modified Adam Can Converge with Any beta2 with the Optimal Rate).
//
//   m = b1 m + (1 - b1) clip(g / max(sqrt(v), eps), t^(1/4)),  p = p - lr m,  v = b2 v + (1 - b2) g^2

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @adopt(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %square: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
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
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real, %v = %square as !real : !vecs, %t = %step : !each,
      %lr = %lr as !real, %b1 = %beta1 as !real, %b2 = %beta2 as !real, %w1 = %w1 as !real, %w2 = %w2 as !real,
      %eps = %eps as !real : !num) -> (!vecs, !vecs, !vecs) {
    %zero = arith.constant 0.0 : !real
    %first = arith.cmpf oeq, %t, %zero : !real
    // bound = sqrt(sqrt(t))
    %bound_1 = math.sqrt %t : !real
    %bound = math.sqrt %bound_1 : !real
    // u = min(max(g / max(sqrt(v), eps), -bound), bound)
    %u_1 = math.sqrt %v : !real
    %u_2 = arith.maximumf %u_1, %eps : !real
    %u_3 = arith.divf %g, %u_2 : !real
    %u_4 = arith.negf %bound : !real
    %u_5 = arith.maximumf %u_3, %u_4 : !real
    %u = arith.minimumf %u_5, %bound : !real
    // m1 = select(first, m, b1 * m + w1 * u)
    %m1_1 = arith.mulf %b1, %m : !real
    %m1_2 = arith.mulf %w1, %u : !real
    %m1_3 = arith.addf %m1_1, %m1_2 : !real
    %m1 = arith.select %first, %m, %m1_3 : !real
    // p1 = select(first, p, p - lr * m1)
    %p1_1 = arith.mulf %lr, %m1 : !real
    %p1_2 = arith.subf %p, %p1_1 : !real
    %p1 = arith.select %first, %p, %p1_2 : !real
    // v1 = select(first, g * g, b2 * v + w2 * g * g)
    %v1_1 = arith.mulf %g, %g : !real
    %v1_2 = arith.mulf %b2, %v : !real
    %v1_3 = arith.mulf %w2, %g : !real
    %v1_4 = arith.mulf %v1_3, %g : !real
    %v1_5 = arith.addf %v1_2, %v1_4 : !real
    %v1 = arith.select %first, %v1_1, %v1_5 : !real
    foreach.yield %p1, %m1, %v1 : !real, !real, !real
  }
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : !real
    %t1 = arith.addf %t, %one : !real
    foreach.yield %t1 : !real
  }
  return %p, %m, %v, %t1 : !vecs, !vecs, !vecs, !each
}

// Lion that updates only where the update agrees with the gradient; the others are scaled up (Liang et al., Cautious
// Optimizers: Improving Training with One Line of Code).
//
//   u = sign(b1 m + (1 - b1) g),  mask = u g > 0,  p = p - lr u mask / max(mean of mask, 1e-3)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @cautious_lion(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.99 : f64}) -> (!vecs, !vecs) {
  %share = foreach.reduce mean along member (
      %g = %grad as !real, %m = %mean as !real : !vecs, %b1 = %beta1 as !real : !num) -> !each {
    // u = sign(b1 * m + (1 - b1) * g)
    %u_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %u_2 = arith.subf %one, %b1 : !real
    %u_3 = arith.mulf %u_2, %g : !real
    %u_4 = arith.addf %u_1, %u_3 : !real
    %u = foreach.sign %u_4 : !real
    // agrees = u * g > 0
    %agrees_1 = arith.mulf %u, %g : !real
    %zero = arith.constant 0.0 : !real
    %agrees = arith.cmpf ogt, %agrees_1, %zero : !real
    %mask = arith.select %agrees, %one, %zero : !real
    foreach.yield %mask : !real
  }
  %p, %m = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real : !vecs, %mean = %share : !each,
      %lr = %lr as !real, %b1 = %beta1 as !real, %b2 = %beta2 as !real : !num) -> (!vecs, !vecs) {
    // u = sign(b1 * m + (1 - b1) * g)
    %u_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %u_2 = arith.subf %one, %b1 : !real
    %u_3 = arith.mulf %u_2, %g : !real
    %u_4 = arith.addf %u_1, %u_3 : !real
    %u = foreach.sign %u_4 : !real
    // agrees = u * g > 0
    %agrees_1 = arith.mulf %u, %g : !real
    %zero = arith.constant 0.0 : !real
    %agrees = arith.cmpf ogt, %agrees_1, %zero : !real
    %c0_001 = arith.constant 0.001 : !real
    %share = arith.maximumf %mean, %c0_001 : !real
    // p1 = p - select(agrees, lr * u / share, 0.0)
    %p1_1 = arith.mulf %lr, %u : !real
    %p1_2 = arith.divf %p1_1, %share : !real
    %p1_3 = arith.select %agrees, %p1_2, %zero : !real
    %p1 = arith.subf %p, %p1_3 : !real
    // m1 = b2 * m + (1 - b2) * g
    %m1_1 = arith.mulf %b2, %m : !real
    %m1_2 = arith.subf %one, %b2 : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    foreach.yield %p1, %m1 : !real, !real
  }
  return %p, %m : !vecs, !vecs
}

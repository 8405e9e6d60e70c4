// Lion that updates only where the update agrees with the gradient; the others are scaled up (Liang et al., Cautious
// Optimizers: Improving Training with One Line of Code).
//
//   u = sign(b1 m + (1 - b1) g),  mask = u g > 0,  p = p - lr u mask / max(mean of mask, 1e-3)

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @cautious_lion(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.99 : f64}) -> (!vecs, !vecs) {
  %agreeing = foreach.reduce add along member (
      %g = %grad, %m = %mean : !vecs, %b1 = %beta1 as f32 : !num) -> !each {
    // u = sign(b1 * m + (1 - b1) * g)
    %u_1 = arith.mulf %b1, %m : f32
    %one = arith.constant 1.0 : f32
    %u_2 = arith.subf %one, %b1 : f32
    %u_3 = arith.mulf %u_2, %g : f32
    %u_4 = arith.addf %u_1, %u_3 : f32
    %u = foreach.sign %u_4 : f32
    // agrees = u * g > 0
    %agrees_1 = arith.mulf %u, %g : f32
    %zero = arith.constant 0.0 : f32
    %agrees = arith.cmpf ogt, %agrees_1, %zero : f32
    %mask = arith.select %agrees, %one, %zero : f32
    foreach.yield %mask : f32
  }
  %count = foreach.reduce add along member (%g = %grad : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %p, %m = foreach.map (
      %p = %param, %g = %grad, %m = %mean : !vecs, %agreeing = %agreeing, %count = %count : !each, %lr = %lr as f32,
      %b1 = %beta1 as f32, %b2 = %beta2 as f32 : !num) -> (!vecs, !vecs) {
    // u = sign(b1 * m + (1 - b1) * g)
    %u_1 = arith.mulf %b1, %m : f32
    %one = arith.constant 1.0 : f32
    %u_2 = arith.subf %one, %b1 : f32
    %u_3 = arith.mulf %u_2, %g : f32
    %u_4 = arith.addf %u_1, %u_3 : f32
    %u = foreach.sign %u_4 : f32
    // agrees = u * g > 0
    %agrees_1 = arith.mulf %u, %g : f32
    %zero = arith.constant 0.0 : f32
    %agrees = arith.cmpf ogt, %agrees_1, %zero : f32
    // share = max(agreeing / count, 1e-3)
    %share_1 = arith.divf %agreeing, %count : f32
    %c0_001 = arith.constant 0.001 : f32
    %share = arith.maximumf %share_1, %c0_001 : f32
    // p1 = p - select(agrees, lr * u / share, 0.0)
    %p1_1 = arith.mulf %lr, %u : f32
    %p1_2 = arith.divf %p1_1, %share : f32
    %p1_3 = arith.select %agrees, %p1_2, %zero : f32
    %p1 = arith.subf %p, %p1_3 : f32
    // m1 = b2 * m + (1 - b2) * g
    %m1_1 = arith.mulf %b2, %m : f32
    %m1_2 = arith.subf %one, %b2 : f32
    %m1_3 = arith.mulf %m1_2, %g : f32
    %m1 = arith.addf %m1_1, %m1_3 : f32
    foreach.yield %p1, %m1 : f32, f32
  }
  return %p, %m : !vecs, !vecs
}

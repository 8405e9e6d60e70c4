// Schedule-free SGD: the gradient is taken between a fast sequence and its average (Defazio et al., The Road Less
// Scheduled).
//
//   y = (1 - b) z + b x is the point of the gradient,  z = z - lr g,  x = x + (z - x) / t

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @schedule_free_sgd(
    %fast: !vecs {foreach.donate = 0 : i64},
    %average: !vecs {foreach.donate = 1 : i64},
    %grad: !vecs,
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 0.1 : f64},
    %beta: !num {foreach.default = 0.9 : f64}) -> (!vecs, !vecs, !vecs, !each) {
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : !real
    %t1 = arith.addf %t, %one : !real
    foreach.yield %t1 : !real
  }
  %z, %x, %y = foreach.map (
      %z = %fast as !real, %x = %average as !real, %g = %grad as !real : !vecs, %t = %t1 : !each, %lr = %lr as !real,
      %b = %beta as !real : !num) -> (!vecs, !vecs, !vecs) {
    // z1 = z - lr * g
    %z1_1 = arith.mulf %lr, %g : !real
    %z1 = arith.subf %z, %z1_1 : !real
    // x1 = x + (z1 - x) / t
    %x1_1 = arith.subf %z1, %x : !real
    %x1_2 = arith.divf %x1_1, %t : !real
    %x1 = arith.addf %x, %x1_2 : !real
    // y1 = (1 - b) * z1 + b * x1
    %one = arith.constant 1.0 : !real
    %y1_1 = arith.subf %one, %b : !real
    %y1_2 = arith.mulf %y1_1, %z1 : !real
    %y1_3 = arith.mulf %b, %x1 : !real
    %y1 = arith.addf %y1_2, %y1_3 : !real
    foreach.yield %z1, %x1, %y1 : !real, !real, !real
  }
  return %z, %x, %y, %t1 : !vecs, !vecs, !vecs, !each
}

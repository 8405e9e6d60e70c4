// Schedule-free SGD: the gradient is taken between a fast sequence and its average (Defazio et al., The Road Less
// Scheduled).
//
//   y = (1 - b) z + b x is the point of the gradient,  z = z - lr g,  x = x + (z - x) / t

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @schedule_free_sgd(
    %fast: !vecs {foreach.donate = 0 : i64},
    %average: !vecs {foreach.donate = 1 : i64},
    %grad: !vecs,
    %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 0.1 : f64},
    %beta: !num {foreach.default = 0.9 : f64}) -> (!vecs, !vecs, !vecs, !each) {
  %t1 = foreach.map (%t = %step : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    foreach.yield %t1 : f32
  }
  %z, %x, %y = foreach.map (
      %z = %fast, %x = %average, %g = %grad : !vecs, %t = %t1 : !each, %lr = %lr as f32, %b = %beta as f32 : !num)
      -> (!vecs, !vecs, !vecs) {
    // z1 = z - lr * g
    %z1_1 = arith.mulf %lr, %g : f32
    %z1 = arith.subf %z, %z1_1 : f32
    // x1 = x + (z1 - x) / t
    %x1_1 = arith.subf %z1, %x : f32
    %x1_2 = arith.divf %x1_1, %t : f32
    %x1 = arith.addf %x, %x1_2 : f32
    // y1 = (1 - b) * z1 + b * x1
    %one = arith.constant 1.0 : f32
    %y1_1 = arith.subf %one, %b : f32
    %y1_2 = arith.mulf %y1_1, %z1 : f32
    %y1_3 = arith.mulf %b, %x1 : f32
    %y1 = arith.addf %y1_2, %y1_3 : f32
    foreach.yield %z1, %x1, %y1 : f32, f32, f32
  }
  return %z, %x, %y, %t1 : !vecs, !vecs, !vecs, !each
}

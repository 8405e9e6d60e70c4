// RMSprop, centered and with momentum (Graves, Generating Sequences With Recurrent Neural Networks).
//
//   v = a v + (1 - a) g^2,  m = a m + (1 - a) g,  b = mu b + g / (sqrt(v - m^2) + eps),  p = p - lr b

!vecs = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

func.func @rmsprop(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %square: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %mean: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %buffer: !vecs {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %alpha: !num {foreach.default = 0.9 : f64},
    %momentum: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-4 : f64}) -> (!vecs, !vecs, !vecs, !vecs) {
  %p, %v, %m, %b = foreach.map (
      %p = %param, %g = %grad, %v = %square, %m = %mean, %b = %buffer : !vecs, %lr = %lr as f32, %a = %alpha as f32,
      %mu = %momentum as f32, %eps = %eps as f32 : !num) -> (!vecs, !vecs, !vecs, !vecs) {
    // v1 = a * v + (1 - a) * g * g
    %v1_1 = arith.mulf %a, %v : f32
    %one = arith.constant 1.0 : f32
    %v1_2 = arith.subf %one, %a : f32
    %v1_3 = arith.mulf %v1_2, %g : f32
    %v1_4 = arith.mulf %v1_3, %g : f32
    %v1 = arith.addf %v1_1, %v1_4 : f32
    // m1 = a * m + (1 - a) * g
    %m1_1 = arith.mulf %a, %m : f32
    %m1_2 = arith.subf %one, %a : f32
    %m1_3 = arith.mulf %m1_2, %g : f32
    %m1 = arith.addf %m1_1, %m1_3 : f32
    // b1 = mu * b + g / (sqrt(max(v1 - m1 * m1, 0.0)) + eps)
    %b1_1 = arith.mulf %mu, %b : f32
    %b1_2 = arith.mulf %m1, %m1 : f32
    %b1_3 = arith.subf %v1, %b1_2 : f32
    %zero = arith.constant 0.0 : f32
    %b1_4 = arith.maximumf %b1_3, %zero : f32
    %b1_5 = math.sqrt %b1_4 : f32
    %b1_6 = arith.addf %b1_5, %eps : f32
    %b1_7 = arith.divf %g, %b1_6 : f32
    %b1 = arith.addf %b1_1, %b1_7 : f32
    // p1 = p - lr * b1
    %p1_1 = arith.mulf %lr, %b1 : f32
    %p1 = arith.subf %p, %p1_1 : f32
    foreach.yield %p1, %v1, %m1, %b1 : f32, f32, f32, f32
  }
  return %p, %v, %m, %b : !vecs, !vecs, !vecs, !vecs
}

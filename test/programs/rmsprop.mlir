// RMSprop, centered and with momentum (Graves, Generating Sequences With Recurrent Neural Networks).
//
//   v = a v + (1 - a) g^2,  m = a m + (1 - a) g,  b = mu b + g / (sqrt(v - m^2) + eps),  p = p - lr b

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @rmsprop(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %square: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %mean: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %buffer: !vecs {foreach.donate = 3 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %alpha: !num {foreach.default = 0.9 : f64},
    %momentum: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-4 : f64}) -> (!vecs, !vecs, !vecs, !vecs) {
  %p, %v, %m, %b = foreach.map (
      %p = %param as !real, %g = %grad as !real, %v = %square as !real, %m = %mean as !real,
      %b = %buffer as !real : !vecs, %lr = %lr as !real, %a = %alpha as !real, %mu = %momentum as !real,
      %eps = %eps as !real : !num) -> (!vecs, !vecs, !vecs, !vecs) {
    // v1 = a * v + (1 - a) * g * g
    %v1_1 = arith.mulf %a, %v : !real
    %one = arith.constant 1.0 : !real
    %v1_2 = arith.subf %one, %a : !real
    %v1_3 = arith.mulf %v1_2, %g : !real
    %v1_4 = arith.mulf %v1_3, %g : !real
    %v1 = arith.addf %v1_1, %v1_4 : !real
    // m1 = a * m + (1 - a) * g
    %m1_1 = arith.mulf %a, %m : !real
    %m1_2 = arith.subf %one, %a : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    // b1 = mu * b + g / (sqrt(max(v1 - m1 * m1, 0.0)) + eps)
    %b1_1 = arith.mulf %mu, %b : !real
    %b1_2 = arith.mulf %m1, %m1 : !real
    %b1_3 = arith.subf %v1, %b1_2 : !real
    %zero = arith.constant 0.0 : !real
    %b1_4 = arith.maximumf %b1_3, %zero : !real
    %b1_5 = math.sqrt %b1_4 : !real
    %b1_6 = arith.addf %b1_5, %eps : !real
    %b1_7 = arith.divf %g, %b1_6 : !real
    %b1 = arith.addf %b1_1, %b1_7 : !real
    // p1 = p - lr * b1
    %p1_1 = arith.mulf %lr, %b1 : !real
    %p1 = arith.subf %p, %p1_1 : !real
    foreach.yield %p1, %v1, %m1, %b1 : !real, !real, !real, !real
  }
  return %p, %v, %m, %b : !vecs, !vecs, !vecs, !vecs
}

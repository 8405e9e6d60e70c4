// Adadelta: steps in units of the parameters (Zeiler, ADADELTA: An Adaptive Learning Rate Method).
//
//   v = rho v + (1 - rho) g^2,  d = sqrt(u + eps) / sqrt(v + eps) g,  u = rho u + (1 - rho) d^2,  p = p - lr d

!vecs = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

func.func @adadelta(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %square: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %moves: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0 : f64},
    %rho: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-6 : f64}) -> (!vecs, !vecs, !vecs) {
  %p, %v, %u = foreach.map (
      %p = %param, %g = %grad, %v = %square, %u = %moves : !vecs, %lr = %lr as f32, %rho = %rho as f32,
      %eps = %eps as f32 : !num) -> (!vecs, !vecs, !vecs) {
    // v1 = rho * v + (1 - rho) * g * g
    %v1_1 = arith.mulf %rho, %v : f32
    %one = arith.constant 1.0 : f32
    %v1_2 = arith.subf %one, %rho : f32
    %v1_3 = arith.mulf %v1_2, %g : f32
    %v1_4 = arith.mulf %v1_3, %g : f32
    %v1 = arith.addf %v1_1, %v1_4 : f32
    // d = sqrt(u + eps) / sqrt(v1 + eps) * g
    %d_1 = arith.addf %u, %eps : f32
    %d_2 = math.sqrt %d_1 : f32
    %d_3 = arith.addf %v1, %eps : f32
    %d_4 = math.sqrt %d_3 : f32
    %d_5 = arith.divf %d_2, %d_4 : f32
    %d = arith.mulf %d_5, %g : f32
    // u1 = rho * u + (1 - rho) * d * d
    %u1_1 = arith.mulf %rho, %u : f32
    %u1_2 = arith.subf %one, %rho : f32
    %u1_3 = arith.mulf %u1_2, %d : f32
    %u1_4 = arith.mulf %u1_3, %d : f32
    %u1 = arith.addf %u1_1, %u1_4 : f32
    // p1 = p - lr * d
    %p1_1 = arith.mulf %lr, %d : f32
    %p1 = arith.subf %p, %p1_1 : f32
    foreach.yield %p1, %v1, %u1 : f32, f32, f32
  }
  return %p, %v, %u : !vecs, !vecs, !vecs
}

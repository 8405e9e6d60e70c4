// Adadelta: steps in units of the parameters (Zeiler, ADADELTA: An Adaptive Learning Rate Method).
//
//   v = rho v + (1 - rho) g^2,  d = sqrt(u + eps) / sqrt(v + eps) g,  u = rho u + (1 - rho) d^2,  p = p - lr d

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @adadelta(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %square: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %moves: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 1.0 : f64},
    %rho: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-6 : f64}) -> (!vecs, !vecs, !vecs) {
  %p, %v, %u = foreach.map (
      %p = %param as !real, %g = %grad as !real, %v = %square as !real, %u = %moves as !real : !vecs,
      %lr = %lr as !real, %rho = %rho as !real, %eps = %eps as !real : !num) -> (!vecs, !vecs, !vecs) {
    // v1 = rho * v + (1 - rho) * g * g
    %v1_1 = arith.mulf %rho, %v : !real
    %one = arith.constant 1.0 : !real
    %v1_2 = arith.subf %one, %rho : !real
    %v1_3 = arith.mulf %v1_2, %g : !real
    %v1_4 = arith.mulf %v1_3, %g : !real
    %v1 = arith.addf %v1_1, %v1_4 : !real
    // d = sqrt(u + eps) / sqrt(v1 + eps) * g
    %d_1 = arith.addf %u, %eps : !real
    %d_2 = math.sqrt %d_1 : !real
    %d_3 = arith.addf %v1, %eps : !real
    %d_4 = math.sqrt %d_3 : !real
    %d_5 = arith.divf %d_2, %d_4 : !real
    %d = arith.mulf %d_5, %g : !real
    // u1 = rho * u + (1 - rho) * d * d
    %u1_1 = arith.mulf %rho, %u : !real
    %u1_2 = arith.subf %one, %rho : !real
    %u1_3 = arith.mulf %u1_2, %d : !real
    %u1_4 = arith.mulf %u1_3, %d : !real
    %u1 = arith.addf %u1_1, %u1_4 : !real
    // p1 = p - lr * d
    %p1_1 = arith.mulf %lr, %d : !real
    %p1 = arith.subf %p, %p1_1 : !real
    foreach.yield %p1, %v1, %u1 : !real, !real, !real
  }
  return %p, %v, %u : !vecs, !vecs, !vecs
}

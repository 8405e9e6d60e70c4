// Gradients of all tensors, clipped by their global norm, for SGD with momentum (Pascanu et al., On the Difficulty of
// Training Recurrent Neural Networks).
//
//   g = g min(1, most / |all g|),  v = mu v + g,  p = p - lr v

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @clipped_momentum(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %velocity: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 0.1 : f64},
    %momentum: !num {foreach.default = 0.9 : f64},
    %most: !num {foreach.default = 1.0 : f64}) -> (!vecs, !vecs, !num) {
  %g2 = foreach.reduce add along list (%g = %grad as f64 : !vecs) -> !num {
    %g2 = arith.mulf %g, %g : f64
    foreach.yield %g2 : f64
  }
  %scale, %norm = foreach.map (%g2 = %g2, %most = %most : !num) -> (!num, !num) {
    %norm = math.sqrt %g2 : f64
    // scale = min(most / norm, 1.0)
    %scale_1 = arith.divf %most, %norm : f64
    %one = arith.constant 1.0 : f64
    %scale = arith.minimumf %scale_1, %one : f64
    foreach.yield %scale, %norm : f64, f64
  }
  %p, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %v = %velocity as !real : !vecs, %scale = %scale as !real,
      %lr = %lr as !real, %mu = %momentum as !real : !num) -> (!vecs, !vecs) {
    // v1 = mu * v + g * scale
    %v1_1 = arith.mulf %mu, %v : !real
    %v1_2 = arith.mulf %g, %scale : !real
    %v1 = arith.addf %v1_1, %v1_2 : !real
    // p1 = p - lr * v1
    %p1_1 = arith.mulf %lr, %v1 : !real
    %p1 = arith.subf %p, %p1_1 : !real
    foreach.yield %p1, %v1 : !real, !real
  }
  return %p, %v, %norm : !vecs, !vecs, !num
}

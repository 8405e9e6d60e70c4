// Gradients of all tensors, clipped by their global norm, for SGD with momentum (Pascanu et al., On the Difficulty of
// Training Recurrent Neural Networks).
//
//   g = g min(1, most / |all g|),  v = mu v + g,  p = p - lr v

!vecs = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

func.func @clipped_momentum(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %velocity: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
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
      %p = %param, %g = %grad, %v = %velocity : !vecs, %scale = %scale as f32, %lr = %lr as f32, %mu = %momentum as f32
      : !num) -> (!vecs, !vecs) {
    // v1 = mu * v + g * scale
    %v1_1 = arith.mulf %mu, %v : f32
    %v1_2 = arith.mulf %g, %scale : f32
    %v1 = arith.addf %v1_1, %v1_2 : f32
    // p1 = p - lr * v1
    %p1_1 = arith.mulf %lr, %v1 : f32
    %p1 = arith.subf %p, %p1_1 : f32
    foreach.yield %p1, %v1 : f32, f32
  }
  return %p, %v, %norm : !vecs, !vecs, !num
}

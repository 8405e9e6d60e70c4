// LARS: momentum with a rate for each tensor (You et al., Large Batch Training of Convolutional Networks).
//
//   rate = eta |p| / (|g| + wd |p| + eps),  v = mu v + lr rate (g + wd p),  p = p - v

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @lars(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %velocity: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 0.1 : f64},
    %momentum: !num {foreach.default = 0.9 : f64},
    %eta: !num {foreach.default = 1.0e-2 : f64},
    %decay: !num {foreach.default = 1.0e-4 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !vecs) {
  %p2 = foreach.reduce add along member (%p = %param : !vecs) -> !each {
    %p2 = arith.mulf %p, %p : f32
    foreach.yield %p2 : f32
  }
  %g2 = foreach.reduce add along member (%g = %grad : !vecs) -> !each {
    %g2 = arith.mulf %g, %g : f32
    foreach.yield %g2 : f32
  }
  %rate = foreach.map (
      %p2 = %p2, %g2 = %g2 : !each, %eta = %eta as f32, %wd = %decay as f32, %eps = %eps as f32 : !num) -> !each {
    %norm = math.sqrt %p2 : f32
    // rate = eta * norm / (sqrt(g2) + wd * norm + eps)
    %rate_1 = arith.mulf %eta, %norm : f32
    %rate_2 = math.sqrt %g2 : f32
    %rate_3 = arith.mulf %wd, %norm : f32
    %rate_4 = arith.addf %rate_2, %rate_3 : f32
    %rate_5 = arith.addf %rate_4, %eps : f32
    %rate = arith.divf %rate_1, %rate_5 : f32
    foreach.yield %rate : f32
  }
  %p, %v = foreach.map (
      %p = %param, %g = %grad, %v = %velocity : !vecs, %rate = %rate : !each, %lr = %lr as f32, %mu = %momentum as f32,
      %wd = %decay as f32 : !num) -> (!vecs, !vecs) {
    // v1 = mu * v + lr * rate * (g + wd * p)
    %v1_1 = arith.mulf %mu, %v : f32
    %v1_2 = arith.mulf %lr, %rate : f32
    %v1_3 = arith.mulf %wd, %p : f32
    %v1_4 = arith.addf %g, %v1_3 : f32
    %v1_5 = arith.mulf %v1_2, %v1_4 : f32
    %v1 = arith.addf %v1_1, %v1_5 : f32
    %p1 = arith.subf %p, %v1 : f32
    foreach.yield %p1, %v1 : f32, f32
  }
  return %p, %v : !vecs, !vecs
}

// LARS: momentum with a rate for each tensor (You et al., Large Batch Training of Convolutional Networks).
//
//   rate = eta |p| / (|g| + wd |p| + eps),  v = mu v + lr rate (g + wd p),  p = p - v

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @lars(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %velocity: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 0.1 : f64},
    %momentum: !num {foreach.default = 0.9 : f64},
    %eta: !num {foreach.default = 1.0e-2 : f64},
    %decay: !num {foreach.default = 1.0e-4 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !vecs) {
  %p2 = foreach.reduce add along member (%p = %param as !real : !vecs) -> !each {
    %p2 = arith.mulf %p, %p : !real
    foreach.yield %p2 : !real
  }
  %g2 = foreach.reduce add along member (%g = %grad as !real : !vecs) -> !each {
    %g2 = arith.mulf %g, %g : !real
    foreach.yield %g2 : !real
  }
  %rate = foreach.map (
      %p2 = %p2, %g2 = %g2 : !each, %eta = %eta as !real, %wd = %decay as !real, %eps = %eps as !real : !num) -> !each {
    %norm = math.sqrt %p2 : !real
    // rate = eta * norm / (sqrt(g2) + wd * norm + eps)
    %rate_1 = arith.mulf %eta, %norm : !real
    %rate_2 = math.sqrt %g2 : !real
    %rate_3 = arith.mulf %wd, %norm : !real
    %rate_4 = arith.addf %rate_2, %rate_3 : !real
    %rate_5 = arith.addf %rate_4, %eps : !real
    %rate = arith.divf %rate_1, %rate_5 : !real
    foreach.yield %rate : !real
  }
  %p, %v = foreach.map (
      %p = %param as !real, %g = %grad as !real, %v = %velocity as !real : !vecs, %rate = %rate : !each,
      %lr = %lr as !real, %mu = %momentum as !real, %wd = %decay as !real : !num) -> (!vecs, !vecs) {
    // v1 = mu * v + lr * rate * (g + wd * p)
    %v1_1 = arith.mulf %mu, %v : !real
    %v1_2 = arith.mulf %lr, %rate : !real
    %v1_3 = arith.mulf %wd, %p : !real
    %v1_4 = arith.addf %g, %v1_3 : !real
    %v1_5 = arith.mulf %v1_2, %v1_4 : !real
    %v1 = arith.addf %v1_1, %v1_5 : !real
    %p1 = arith.subf %p, %v1 : !real
    foreach.yield %p1, %v1 : !real, !real
  }
  return %p, %v : !vecs, !vecs
}

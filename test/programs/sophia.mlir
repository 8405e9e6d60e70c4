// Sophia: momentum over a diagonal of the Hessian, clipped (Liu et al., Sophia: A Scalable Stochastic Second-order
// Optimizer).
//
//   m = b1 m + (1 - b1) g,  h = b2 h + (1 - b2) estimate,  p = p - lr wd p - lr clip(m / max(gamma h, eps), 1)

!vecs = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

func.func @sophia(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %estimate: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %hessian: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.96 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %gamma: !num {foreach.default = 5.0 : f64},
    %eps: !num {foreach.default = 1.0e-12 : f64},
    %decay: !num {foreach.default = 0.1 : f64}) -> (!vecs, !vecs, !vecs) {
  %p, %m, %h = foreach.map (
      %p = %param, %g = %grad, %e = %estimate, %m = %mean, %h = %hessian : !vecs, %lr = %lr as f32, %b1 = %beta1 as f32,
      %b2 = %beta2 as f32, %gamma = %gamma as f32, %eps = %eps as f32, %wd = %decay as f32 : !num)
      -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + (1 - b1) * g
    %m1_1 = arith.mulf %b1, %m : f32
    %one = arith.constant 1.0 : f32
    %m1_2 = arith.subf %one, %b1 : f32
    %m1_3 = arith.mulf %m1_2, %g : f32
    %m1 = arith.addf %m1_1, %m1_3 : f32
    // h1 = b2 * h + (1 - b2) * e
    %h1_1 = arith.mulf %b2, %h : f32
    %h1_2 = arith.subf %one, %b2 : f32
    %h1_3 = arith.mulf %h1_2, %e : f32
    %h1 = arith.addf %h1_1, %h1_3 : f32
    // u = min(max(m1 / max(gamma * h1, eps), -1.0), 1.0)
    %u_1 = arith.mulf %gamma, %h1 : f32
    %u_2 = arith.maximumf %u_1, %eps : f32
    %u_3 = arith.divf %m1, %u_2 : f32
    %minus_one = arith.constant -1.0 : f32
    %u_4 = arith.maximumf %u_3, %minus_one : f32
    %u = arith.minimumf %u_4, %one : f32
    // p1 = p - lr * wd * p - lr * u
    %p1_1 = arith.mulf %lr, %wd : f32
    %p1_2 = arith.mulf %p1_1, %p : f32
    %p1_3 = arith.subf %p, %p1_2 : f32
    %p1_4 = arith.mulf %lr, %u : f32
    %p1 = arith.subf %p1_3, %p1_4 : f32
    foreach.yield %p1, %m1, %h1 : f32, f32, f32
  }
  return %p, %m, %h : !vecs, !vecs, !vecs
}

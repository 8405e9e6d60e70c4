// Sophia: momentum over a diagonal of the Hessian, clipped (Liu et al., Sophia: A Scalable Stochastic Second-order
// Optimizer).
//
//   m = b1 m + (1 - b1) g,  h = b2 h + (1 - b2) estimate,  p = p - lr wd p - lr clip(m / max(gamma h, eps), 1)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @sophia(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %estimate: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %hessian: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.96 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %gamma: !num {foreach.default = 5.0 : f64},
    %eps: !num {foreach.default = 1.0e-12 : f64},
    %decay: !num {foreach.default = 0.1 : f64}) -> (!vecs, !vecs, !vecs) {
  %p, %m, %h = foreach.map (
      %p = %param as !real, %g = %grad as !real, %e = %estimate as !real, %m = %mean as !real,
      %h = %hessian as !real : !vecs, %lr = %lr as !real, %b1 = %beta1 as !real, %b2 = %beta2 as !real,
      %gamma = %gamma as !real, %eps = %eps as !real, %wd = %decay as !real : !num) -> (!vecs, !vecs, !vecs) {
    // m1 = b1 * m + (1 - b1) * g
    %m1_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %m1_2 = arith.subf %one, %b1 : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    // h1 = b2 * h + (1 - b2) * e
    %h1_1 = arith.mulf %b2, %h : !real
    %h1_2 = arith.subf %one, %b2 : !real
    %h1_3 = arith.mulf %h1_2, %e : !real
    %h1 = arith.addf %h1_1, %h1_3 : !real
    // u = min(max(m1 / max(gamma * h1, eps), -1.0), 1.0)
    %u_1 = arith.mulf %gamma, %h1 : !real
    %u_2 = arith.maximumf %u_1, %eps : !real
    %u_3 = arith.divf %m1, %u_2 : !real
    %minus_one = arith.constant -1.0 : !real
    %u_4 = arith.maximumf %u_3, %minus_one : !real
    %u = arith.minimumf %u_4, %one : !real
    // p1 = p - lr * wd * p - lr * u
    %p1_1 = arith.mulf %lr, %wd : !real
    %p1_2 = arith.mulf %p1_1, %p : !real
    %p1_3 = arith.subf %p, %p1_2 : !real
    %p1_4 = arith.mulf %lr, %u : !real
    %p1 = arith.subf %p1_3, %p1_4 : !real
    foreach.yield %p1, %m1, %h1 : !real, !real, !real
  }
  return %p, %m, %h : !vecs, !vecs, !vecs
}

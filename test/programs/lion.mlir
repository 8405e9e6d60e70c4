// Lion, with weight decay (Chen et al., Symbolic Discovery of Optimization Algorithms).
//
//   u = sign(b1 m + (1 - b1) g),  p = p - lr (u + wd p),  m = b2 m + (1 - b2) g

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @lion(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %decay: !num {foreach.default = 0.1 : f64}) -> (!vecs, !vecs) {
  %p, %m = foreach.map (
      %p = %param as !real, %g = %grad as !real, %m = %mean as !real : !vecs, %lr = %lr as !real, %b1 = %beta1 as !real,
      %b2 = %beta2 as !real, %wd = %decay as !real : !num) -> (!vecs, !vecs) {
    // u = sign(b1 * m + (1 - b1) * g)
    %u_1 = arith.mulf %b1, %m : !real
    %one = arith.constant 1.0 : !real
    %u_2 = arith.subf %one, %b1 : !real
    %u_3 = arith.mulf %u_2, %g : !real
    %u_4 = arith.addf %u_1, %u_3 : !real
    %u = foreach.sign %u_4 : !real
    // p1 = p - lr * (u + wd * p)
    %p1_1 = arith.mulf %wd, %p : !real
    %p1_2 = arith.addf %u, %p1_1 : !real
    %p1_3 = arith.mulf %lr, %p1_2 : !real
    %p1 = arith.subf %p, %p1_3 : !real
    // m1 = b2 * m + (1 - b2) * g
    %m1_1 = arith.mulf %b2, %m : !real
    %m1_2 = arith.subf %one, %b2 : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    foreach.yield %p1, %m1 : !real, !real
  }
  return %p, %m : !vecs, !vecs
}

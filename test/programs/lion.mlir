// Lion, with weight decay (Chen et al., Symbolic Discovery of Optimization Algorithms).
//
//   u = sign(b1 m + (1 - b1) g),  p = p - lr (u + wd p),  m = b2 m + (1 - b2) g

!vecs = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

func.func @lion(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-3 : f64},
    %beta1: !num {foreach.default = 0.9 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %decay: !num {foreach.default = 0.1 : f64}) -> (!vecs, !vecs) {
  %p, %m = foreach.map (
      %p = %param, %g = %grad, %m = %mean : !vecs, %lr = %lr as f32, %b1 = %beta1 as f32, %b2 = %beta2 as f32,
      %wd = %decay as f32 : !num) -> (!vecs, !vecs) {
    // u = sign(b1 * m + (1 - b1) * g)
    %u_1 = arith.mulf %b1, %m : f32
    %one = arith.constant 1.0 : f32
    %u_2 = arith.subf %one, %b1 : f32
    %u_3 = arith.mulf %u_2, %g : f32
    %u_4 = arith.addf %u_1, %u_3 : f32
    %u = foreach.sign %u_4 : f32
    // p1 = p - lr * (u + wd * p)
    %p1_1 = arith.mulf %wd, %p : f32
    %p1_2 = arith.addf %u, %p1_1 : f32
    %p1_3 = arith.mulf %lr, %p1_2 : f32
    %p1 = arith.subf %p, %p1_3 : f32
    // m1 = b2 * m + (1 - b2) * g
    %m1_1 = arith.mulf %b2, %m : f32
    %m1_2 = arith.subf %one, %b2 : f32
    %m1_3 = arith.mulf %m1_2, %g : f32
    %m1 = arith.addf %m1_1, %m1_3 : f32
    foreach.yield %p1, %m1 : f32, f32
  }
  return %p, %m : !vecs, !vecs
}

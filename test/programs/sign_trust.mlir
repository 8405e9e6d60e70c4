// Descent along the sign of the momentum, with a trust ratio: a tensor moves by a share of its norm.
//
//   m = b m + (1 - b) g,  p = p - lr |p| / |sign(m)| sign(m)

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @sign_trust(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta: !num {foreach.default = 0.95 : f64}) -> (!vecs, !vecs) {
  %p2 = foreach.reduce add along member (%p = %param : !vecs) -> !each {
    %p2 = arith.mulf %p, %p : f32
    foreach.yield %p2 : f32
  }
  %m, %u = foreach.map (%g = %grad, %m = %mean : !vecs, %b = %beta as f32 : !num) -> (!vecs, !vecs) {
    // m1 = b * m + (1 - b) * g
    %m1_1 = arith.mulf %b, %m : f32
    %one = arith.constant 1.0 : f32
    %m1_2 = arith.subf %one, %b : f32
    %m1_3 = arith.mulf %m1_2, %g : f32
    %m1 = arith.addf %m1_1, %m1_3 : f32
    %u = foreach.sign %m1 : f32
    foreach.yield %m1, %u : f32, f32
  }
  %u2 = foreach.reduce add along member (%u = %u : !vecs) -> !each {
    %u2 = arith.mulf %u, %u : f32
    foreach.yield %u2 : f32
  }
  %p = foreach.map (
      %p = %param, %u = %u : !vecs, %p2 = %p2, %u2 = %u2 : !each, %lr = %lr as f32 : !num) -> !vecs {
    // p1 = p - lr * sqrt(p2) / max(sqrt(u2), 1) * u
    %p1_1 = math.sqrt %p2 : f32
    %p1_2 = arith.mulf %lr, %p1_1 : f32
    %p1_3 = math.sqrt %u2 : f32
    %one = arith.constant 1.0 : f32
    %p1_4 = arith.maximumf %p1_3, %one : f32
    %p1_5 = arith.divf %p1_2, %p1_4 : f32
    %p1_6 = arith.mulf %p1_5, %u : f32
    %p1 = arith.subf %p, %p1_6 : f32
    foreach.yield %p1 : f32
  }
  return %p, %m : !vecs, !vecs
}

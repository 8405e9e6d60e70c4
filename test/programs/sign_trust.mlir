// Descent along the sign of the momentum, with a trust ratio: a tensor moves by a share of its norm.
//
//   m = b m + (1 - b) g,  p = p - lr |p| / |sign(m)| sign(m)

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!reals = !foreach.list<tensor<?x!real>> // values between two maps
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @sign_trust(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta: !num {foreach.default = 0.95 : f64}) -> (!vecs, !vecs) {
  %p2 = foreach.reduce add along member (%p = %param as !real : !vecs) -> !each {
    %p2 = arith.mulf %p, %p : !real
    foreach.yield %p2 : !real
  }
  %m, %u = foreach.map (
      %g = %grad as !real, %m = %mean as !real : !vecs, %b = %beta as !real : !num) -> (!vecs, !reals) {
    // m1 = b * m + (1 - b) * g
    %m1_1 = arith.mulf %b, %m : !real
    %one = arith.constant 1.0 : !real
    %m1_2 = arith.subf %one, %b : !real
    %m1_3 = arith.mulf %m1_2, %g : !real
    %m1 = arith.addf %m1_1, %m1_3 : !real
    %u = foreach.sign %m1 : !real
    foreach.yield %m1, %u : !real, !real
  }
  %u2 = foreach.reduce add along member (%u = %u : !reals) -> !each {
    %u2 = arith.mulf %u, %u : !real
    foreach.yield %u2 : !real
  }
  %p = foreach.map (
      %p = %param as !real : !vecs, %u = %u : !reals, %p2 = %p2, %u2 = %u2 : !each, %lr = %lr as !real : !num)
      -> !vecs {
    // p1 = p - lr * sqrt(p2) / max(sqrt(u2), 1) * u
    %p1_1 = math.sqrt %p2 : !real
    %p1_2 = arith.mulf %lr, %p1_1 : !real
    %p1_3 = math.sqrt %u2 : !real
    %one = arith.constant 1.0 : !real
    %p1_4 = arith.maximumf %p1_3, %one : !real
    %p1_5 = arith.divf %p1_2, %p1_4 : !real
    %p1_6 = arith.mulf %p1_5, %u : !real
    %p1 = arith.subf %p, %p1_6 : !real
    foreach.yield %p1 : !real
  }
  return %p, %m : !vecs, !vecs
}

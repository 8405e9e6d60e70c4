// Descent along the sign of the momentum, with a trust ratio for every tensor as in LARS (You et al., Large Batch
// Training of Convolutional Networks).
//
//   m     = beta m + (1 - beta) g
//   u     = sign(m) + decay p
//   ratio = |p| / |u|, or 1 if one of them is 0
//   p     = p - lr ratio u

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num  = tensor<f64>

func.func @sign_lars(
    %param:   !list {foreach.donate = 0 : i64},
    %grad:    !list,
    %exp_avg: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr:    !num {foreach.default = 1.0e-3 : f64},
    %beta:  !num {foreach.default = 0.9 : f64},
    %decay: !num {foreach.default = 1.0e-2 : f64}) -> (!list, !list) {

  %exp_avg1 = foreach.map (%m = %exp_avg, %g = %grad : !list, %beta = %beta as f32 : !num) -> !list {
    %gap = arith.subf %m, %g : f32
    %kept = arith.mulf %beta, %gap : f32
    %m1 = arith.addf %g, %kept : f32
    foreach.yield %m1 : f32
  }
  %u = foreach.map (%m = %exp_avg1, %p = %param : !list, %decay = %decay as f32 : !num) -> !list {
    %sign = foreach.sign %m : f32
    %decayed = arith.mulf %decay, %p : f32
    %u = arith.addf %sign, %decayed : f32
    foreach.yield %u : f32
  }
  %p2 = foreach.reduce add along member (%p = %param : !list) -> !each {
    %square = arith.mulf %p, %p : f32
    foreach.yield %square : f32
  }
  %u2 = foreach.reduce add along member (%u = %u : !list) -> !each {
    %square = arith.mulf %u, %u : f32
    foreach.yield %square : f32
  }
  %ratio = foreach.map (%p2 = %p2, %u2 = %u2 : !each) -> !each {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %quotient = arith.divf %p2, %u2 : f32
    %root = math.sqrt %quotient : f32
    %has_p = arith.cmpf ogt, %p2, %zero : f32
    %has_u = arith.cmpf ogt, %u2, %zero : f32
    %both = arith.andi %has_p, %has_u : i1
    %ratio = arith.select %both, %root, %one : f32
    foreach.yield %ratio : f32
  }
  %param1 = foreach.map (%p = %param, %u = %u : !list, %ratio = %ratio : !each, %lr = %lr as f32 : !num) -> !list {
    %rate = arith.mulf %lr, %ratio : f32
    %change = arith.mulf %rate, %u : f32
    %p1 = arith.subf %p, %change : f32
    foreach.yield %p1 : f32
  }
  return %param1, %exp_avg1 : !list, !list
}

// Lion: every element changes by lr, and the momentum determines only the sign of
// the change (Chen et al., Symbolic Discovery of Optimization Algorithms).
//
//   u = sign(beta1 m + (1 - beta1) g)
//   p = p (1 - lr wd) - lr u
//   m = beta2 m + (1 - beta2) g

!list = !foreach.list<tensor<?xf32>> // one tensor of any shape per member
!num  = tensor<f64>                  // a device scalar, set between steps

func.func @lion(
    %param:    !list {foreach.donate = 0 : i64},
    %grad:     !list,
    %momentum: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %lr:           !num {foreach.default = 1.0e-4 : f64},
    %beta1:        !num {foreach.default = 0.9 : f64},
    %beta2:        !num {foreach.default = 0.99 : f64},
    %weight_decay: !num {foreach.default = 0.0 : f64}) -> (!list, !list) {

  // The weights of the new gradient, in double.
  %w1, %w2 = foreach.map (%beta1 = %beta1, %beta2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %beta1 : f64
    %w2 = arith.subf %one, %beta2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }

  %p, %m = foreach.map (
      %p = %param, %g = %grad, %m = %momentum : !list, %lr = %lr as f32, %beta1 = %beta1 as f32,
      %beta2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %wd = %weight_decay as f32 : !num)
      -> (!list, !list) {
    // u = sign(beta1 m + w1 g)
    %old = arith.mulf %beta1, %m : f32
    %new = arith.mulf %w1, %g : f32
    %mix = arith.addf %old, %new : f32
    %u = foreach.sign %mix : f32
    // p = p (1 - lr wd) - lr u
    %one = arith.constant 1.0 : f32
    %shrink = arith.mulf %lr, %wd : f32
    %keep = arith.subf %one, %shrink : f32
    %decayed = arith.mulf %p, %keep : f32
    %change = arith.mulf %lr, %u : f32
    %p1 = arith.subf %decayed, %change : f32
    // m = beta2 m + w2 g
    %kept = arith.mulf %beta2, %m : f32
    %added = arith.mulf %w2, %g : f32
    %m1 = arith.addf %kept, %added : f32
    foreach.yield %p1, %m1 : f32, f32
  }
  return %p, %m : !list, !list
}

// AdamW: Adam with decoupled weight decay, for a list of parameters.
//
//   t = t + 1
//   m = m + (1 - beta1) (g - m)                  mean of gradients
//   v = beta2 v + ((1 - beta2) g) g              mean of squared gradients
//   p = p (1 - lr wd) - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
//
// Each operation rounds, so the order of the operations is part of the program.
// The order here is that of the standard program `adamw`, so the bits are equal.

!list = !foreach.list<tensor<?xf32>> // one tensor of any shape per member
!each = !foreach.list<tensor<f32>>   // one scalar per member
!num  = tensor<f64>                  // a device scalar, set between steps

func.func @adamw(
    %param:      !list {foreach.donate = 0 : i64},
    %grad:       !list,
    %exp_avg:    !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %exp_avg_sq: !list {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %step:       !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr:           !num {foreach.default = 1.0e-3 : f64},
    %beta1:        !num {foreach.default = 0.9 : f64},
    %beta2:        !num {foreach.default = 0.999 : f64},
    %eps:          !num {foreach.default = 1.0e-8 : f64},
    %weight_decay: !num {foreach.default = 1.0e-2 : f64}) -> (!list, !list, !list, !each) {

  // The weights of the new gradient, in double: 1 - 0.999f has an error of 1.3e-5.
  %w1, %w2 = foreach.map (%beta1 = %beta1, %beta2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %beta1 : f64
    %w2 = arith.subf %one, %beta2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }

  // t = t + 1;  bc1 = 1 - beta1^t;  root = sqrt(1 - beta2^t)
  %t, %bc1, %root = foreach.map (%step = %step : !each, %beta1 = %beta1, %beta2 = %beta2 : !num)
      -> (!each, !each, !each) {
    %tick = arith.constant 1.0 : f32
    %t = arith.addf %step, %tick : f32
    %exponent = arith.fptosi %t : f32 to i32
    %one = arith.constant 1.0 : f64
    %beta1_t = math.fpowi %beta1, %exponent : f64, i32
    %bc1 = arith.subf %one, %beta1_t : f64
    %beta2_t = math.fpowi %beta2, %exponent : f64, i32
    %bc2 = arith.subf %one, %beta2_t : f64
    %root = math.sqrt %bc2 : f64
    foreach.yield %t, %bc1, %root : f32, f64, f64
  }

  %p, %m, %v = foreach.map (
      %p = %param, %g = %grad, %m = %exp_avg, %v = %exp_avg_sq : !list, %bc1 = %bc1, %root = %root : !each,
      %lr = %lr as f32, %beta2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %eps = %eps as f32,
      %wd = %weight_decay as f32 : !num) -> (!list, !list, !list) {
    // decayed = p (1 - lr wd)
    %one = arith.constant 1.0 : f32
    %shrink = arith.mulf %lr, %wd : f32
    %keep = arith.subf %one, %shrink : f32
    %decayed = arith.mulf %p, %keep : f32
    // m = m + w1 (g - m)
    %gap = arith.subf %g, %m : f32
    %move = arith.mulf %w1, %gap : f32
    %m1 = arith.addf %m, %move : f32
    // v = beta2 v + (w2 g) g
    %kept = arith.mulf %v, %beta2 : f32
    %weighted = arith.mulf %w2, %g : f32
    %square = arith.mulf %weighted, %g : f32
    %v1 = arith.addf %kept, %square : f32
    // denom = sqrt(v) / root + eps
    %deviation = math.sqrt %v1 : f32
    %corrected = arith.divf %deviation, %root : f32
    %denom = arith.addf %corrected, %eps : f32
    // p = decayed - lr / bc1 * (m / denom)
    %step_size = arith.divf %lr, %bc1 : f32
    %ratio = arith.divf %m1, %denom : f32
    %change = arith.mulf %step_size, %ratio : f32
    %p1 = arith.subf %decayed, %change : f32
    foreach.yield %p1, %m1, %v1 : f32, f32, f32
  }
  return %p, %m, %v, %t : !list, !list, !list, !each
}

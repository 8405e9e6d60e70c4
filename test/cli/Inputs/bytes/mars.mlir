// MARS-AdamW: Adam on a gradient whose variance the previous gradient reduces (Yuan et al., MARS: Unleashing the Power
// of Variance Reduction for Training Large Models).
//
//   c = g + gamma beta1 / (1 - beta1) (g - g of the previous step)
//   c = c / max(1, |c|)
//   m = beta1 m + (1 - beta1) c,  v = beta2 v + (1 - beta2) c^2
//   p = p - lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + decay p)

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num  = tensor<f64>

func.func @mars(
    %param:      !list {foreach.donate = 0 : i64},
    %grad:       !list,
    %previous:   !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %exp_avg:    !list {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %exp_avg_sq: !list {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %step:       !each {foreach.donate = 4 : i64, foreach.initial = 0.0 : f32},
    %lr:    !num {foreach.default = 3.0e-3 : f64},
    %beta1: !num {foreach.default = 0.95 : f64},
    %beta2: !num {foreach.default = 0.99 : f64},
    %gamma: !num {foreach.default = 0.025 : f64},
    %eps:   !num {foreach.default = 1.0e-8 : f64},
    %decay: !num {foreach.default = 1.0e-2 : f64}) -> (!list, !list, !list, !list, !each) {

  %step1, %rest1, %rest2 = foreach.map (%t = %step : !each, %beta1 = %beta1, %beta2 = %beta2 : !num) -> (!each, !each, !each) {
    %one = arith.constant 1.0 : f32
    %one64 = arith.constant 1.0 : f64
    %t1 = arith.addf %t, %one : f32
    %n = arith.fptosi %t1 : f32 to i32
    %power1 = math.fpowi %beta1, %n : f64, i32
    %power2 = math.fpowi %beta2, %n : f64, i32
    %difference1 = arith.subf %one64, %power1 : f64
    %difference2 = arith.subf %one64, %power2 : f64
    %rest1 = arith.truncf %difference1 : f64 to f32
    %rest2 = arith.truncf %difference2 : f64 to f32
    foreach.yield %t1, %rest1, %rest2 : f32, f32, f32
  }
  %c = foreach.map (%g = %grad, %old = %previous : !list, %gamma = %gamma as f32, %beta1 = %beta1 as f32 : !num) -> !list {
    %one = arith.constant 1.0 : f32
    %rest = arith.subf %one, %beta1 : f32
    %odds = arith.divf %beta1, %rest : f32
    %factor = arith.mulf %gamma, %odds : f32
    %gap = arith.subf %g, %old : f32
    %correction = arith.mulf %factor, %gap : f32
    %c = arith.addf %g, %correction : f32
    foreach.yield %c : f32
  }
  %square = foreach.reduce add along member (%c = %c : !list) -> !each {
    %square = arith.mulf %c, %c : f32
    foreach.yield %square : f32
  }
  %clipped = foreach.map (%c = %c : !list, %square = %square : !each) -> !list {
    %one = arith.constant 1.0 : f32
    %norm = math.sqrt %square : f32
    %most = arith.maximumf %norm, %one : f32
    %clipped = arith.divf %c, %most : f32
    foreach.yield %clipped : f32
  }
  %exp_avg1 = foreach.map (%m = %exp_avg, %c = %clipped : !list, %beta1 = %beta1 as f32 : !num) -> !list {
    %gap = arith.subf %m, %c : f32
    %kept = arith.mulf %beta1, %gap : f32
    %m1 = arith.addf %c, %kept : f32
    foreach.yield %m1 : f32
  }
  %exp_avg_sq1 = foreach.map (%v = %exp_avg_sq, %c = %clipped : !list, %beta2 = %beta2 as f32 : !num) -> !list {
    %square = arith.mulf %c, %c : f32
    %gap = arith.subf %v, %square : f32
    %kept = arith.mulf %beta2, %gap : f32
    %v1 = arith.addf %square, %kept : f32
    foreach.yield %v1 : f32
  }
  %param1 = foreach.map (%p = %param, %m = %exp_avg1, %v = %exp_avg_sq1 : !list, %rest1 = %rest1, %rest2 = %rest2 : !each,
                         %lr = %lr as f32, %eps = %eps as f32, %decay = %decay as f32 : !num) -> !list {
    %mean = arith.divf %m, %rest1 : f32
    %variance = arith.divf %v, %rest2 : f32
    %root = math.sqrt %variance : f32
    %deviation = arith.addf %root, %eps : f32
    %quotient = arith.divf %mean, %deviation : f32
    %decayed = arith.mulf %decay, %p : f32
    %sum = arith.addf %quotient, %decayed : f32
    %change = arith.mulf %lr, %sum : f32
    %p1 = arith.subf %p, %change : f32
    foreach.yield %p1 : f32
  }
  return %param1, %grad, %exp_avg1, %exp_avg_sq1, %step1 : !list, !list, !list, !list, !each
}

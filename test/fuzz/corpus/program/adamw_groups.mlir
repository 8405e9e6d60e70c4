!list_f32 = !foreach.list<tensor<?xf32>>
!each_f32 = !foreach.list<tensor<f32>>
!list_bf16 = !foreach.list<tensor<?xbf16>>
!each_f64 = !foreach.list<tensor<f64>>
module {
  func.func @adamw(%param_f32: !list_f32 {foreach.donate = 0 : i64}, %grad_f32: !list_f32, %exp_avg_f32: !list_f32 {foreach.donate = 1 : i64, foreach.initial = 0.000000e+00 : f32}, %exp_avg_sq_f32: !list_f32 {foreach.donate = 2 : i64, foreach.initial = 0.000000e+00 : f32}, %step_f32: !each_f32 {foreach.donate = 3 : i64, foreach.initial = 0.000000e+00 : f32}, %param_bf16: !list_bf16 {foreach.donate = 4 : i64}, %grad_bf16: !list_bf16, %exp_avg_bf16: !list_bf16 {foreach.donate = 5 : i64, foreach.initial = 0.000000e+00 : bf16}, %exp_avg_sq_bf16: !list_bf16 {foreach.donate = 6 : i64, foreach.initial = 0.000000e+00 : bf16}, %step_bf16: !each_f32 {foreach.donate = 7 : i64, foreach.initial = 0.000000e+00 : f32}, %lr_f32: !each_f64 {foreach.initial = 1.000000e-03 : f64}, %beta1_f32: !each_f64 {foreach.initial = 9.000000e-01 : f64}, %beta2_f32: !each_f64 {foreach.initial = 0.99899999999999999 : f64}, %eps_f32: !each_f64 {foreach.initial = 1.000000e-08 : f64}, %weight_decay_f32: !each_f64 {foreach.initial = 1.000000e-02 : f64}, %lr_bf16: !each_f64 {foreach.initial = 1.000000e-03 : f64}, %beta1_bf16: !each_f64 {foreach.initial = 9.000000e-01 : f64}, %beta2_bf16: !each_f64 {foreach.initial = 0.99899999999999999 : f64}, %eps_bf16: !each_f64 {foreach.initial = 1.000000e-08 : f64}, %weight_decay_bf16: !each_f64 {foreach.initial = 1.000000e-02 : f64}) -> (!list_f32, !list_f32, !list_f32, !each_f32, !list_bf16, !list_bf16, !list_bf16, !each_f32) {
    %w1_f32, %w2_f32 = foreach.map (%beta1 = %beta1_f32, %beta2 = %beta2_f32 : !each_f64) -> (!each_f64, !each_f64) {
      %one = arith.constant 1.000000e+00 : f64
      %w1 = arith.subf %one, %beta1 : f64
      %w2 = arith.subf %one, %beta2 : f64
      foreach.yield %w1, %w2 : f64, f64
    }
    %w1_bf16, %w2_bf16 = foreach.map (%beta1 = %beta1_bf16, %beta2 = %beta2_bf16 : !each_f64) -> (!each_f64, !each_f64) {
      %one = arith.constant 1.000000e+00 : f64
      %w1 = arith.subf %one, %beta1 : f64
      %w2 = arith.subf %one, %beta2 : f64
      foreach.yield %w1, %w2 : f64, f64
    }
    %step1_f32, %bc1_f32, %root_f32 = foreach.map (%step = %step_f32 : !each_f32, %beta1 = %beta1_f32, %beta2 = %beta2_f32 : !each_f64) -> (!each_f32, !each_f32, !each_f32) {
      %tick = arith.constant 1.000000e+00 : f32
      %step1 = arith.addf %step, %tick : f32
      %t = arith.fptosi %step1 : f32 to i32
      %one = arith.constant 1.000000e+00 : f64
      %beta1_t = math.fpowi %beta1, %t : f64, i32
      %bc1 = arith.subf %one, %beta1_t : f64
      %beta2_t = math.fpowi %beta2, %t : f64, i32
      %bc2 = arith.subf %one, %beta2_t : f64
      %root = math.sqrt %bc2 : f64
      foreach.yield %step1, %bc1, %root : f32, f64, f64
    }
    %param1_f32, %exp_avg1_f32, %exp_avg_sq1_f32 = foreach.map (%param = %param_f32, %grad = %grad_f32, %exp_avg = %exp_avg_f32, %exp_avg_sq = %exp_avg_sq_f32 : !list_f32, %bc1 = %bc1_f32, %root = %root_f32 : !each_f32, %lr = %lr_f32 as f32, %beta2 = %beta2_f32 as f32, %w1 = %w1_f32 as f32, %w2 = %w2_f32 as f32, %eps = %eps_f32 as f32, %weight_decay = %weight_decay_f32 as f32 : !each_f64) -> (!list_f32, !list_f32, !list_f32) {
      %shrink = arith.mulf %lr, %weight_decay : f32
      %one = arith.constant 1.000000e+00 : f32
      %decay = arith.subf %one, %shrink : f32
      %decayed = arith.mulf %param, %decay : f32
      %gap = arith.subf %grad, %exp_avg : f32
      %move = arith.mulf %w1, %gap : f32
      %exp_avg1 = arith.addf %exp_avg, %move : f32
      %kept = arith.mulf %exp_avg_sq, %beta2 : f32
      %weighted = arith.mulf %w2, %grad : f32
      %square = arith.mulf %weighted, %grad : f32
      %exp_avg_sq1 = arith.addf %kept, %square : f32
      %deviation = math.sqrt %exp_avg_sq1 : f32
      %corrected = arith.divf %deviation, %root : f32
      %denom = arith.addf %corrected, %eps : f32
      %step_size = arith.divf %lr, %bc1 : f32
      %ratio = arith.divf %exp_avg1, %denom : f32
      %change = arith.mulf %step_size, %ratio : f32
      %param1 = arith.subf %decayed, %change : f32
      foreach.yield %param1, %exp_avg1, %exp_avg_sq1 : f32, f32, f32
    }
    %step1_bf16, %bc1_bf16, %root_bf16 = foreach.map (%step = %step_bf16 : !each_f32, %beta1 = %beta1_bf16, %beta2 = %beta2_bf16 : !each_f64) -> (!each_f32, !each_f32, !each_f32) {
      %tick = arith.constant 1.000000e+00 : f32
      %step1 = arith.addf %step, %tick : f32
      %t = arith.fptosi %step1 : f32 to i32
      %one = arith.constant 1.000000e+00 : f64
      %beta1_t = math.fpowi %beta1, %t : f64, i32
      %bc1 = arith.subf %one, %beta1_t : f64
      %beta2_t = math.fpowi %beta2, %t : f64, i32
      %bc2 = arith.subf %one, %beta2_t : f64
      %root = math.sqrt %bc2 : f64
      foreach.yield %step1, %bc1, %root : f32, f64, f64
    }
    %param1_bf16, %exp_avg1_bf16, %exp_avg_sq1_bf16 = foreach.map (%param = %param_bf16 as f32, %grad = %grad_bf16 as f32, %exp_avg = %exp_avg_bf16 as f32, %exp_avg_sq = %exp_avg_sq_bf16 as f32 : !list_bf16, %bc1 = %bc1_bf16, %root = %root_bf16 : !each_f32, %lr = %lr_bf16 as f32, %beta2 = %beta2_bf16 as f32, %w1 = %w1_bf16 as f32, %w2 = %w2_bf16 as f32, %eps = %eps_bf16 as f32, %weight_decay = %weight_decay_bf16 as f32 : !each_f64) -> (!list_bf16, !list_bf16, !list_bf16) {
      %shrink = arith.mulf %lr, %weight_decay : f32
      %one = arith.constant 1.000000e+00 : f32
      %decay = arith.subf %one, %shrink : f32
      %decayed = arith.mulf %param, %decay : f32
      %gap = arith.subf %grad, %exp_avg : f32
      %move = arith.mulf %w1, %gap : f32
      %exp_avg1 = arith.addf %exp_avg, %move : f32
      %kept = arith.mulf %exp_avg_sq, %beta2 : f32
      %weighted = arith.mulf %w2, %grad : f32
      %square = arith.mulf %weighted, %grad : f32
      %exp_avg_sq1 = arith.addf %kept, %square : f32
      %deviation = math.sqrt %exp_avg_sq1 : f32
      %corrected = arith.divf %deviation, %root : f32
      %denom = arith.addf %corrected, %eps : f32
      %step_size = arith.divf %lr, %bc1 : f32
      %ratio = arith.divf %exp_avg1, %denom : f32
      %change = arith.mulf %step_size, %ratio : f32
      %param1 = arith.subf %decayed, %change : f32
      foreach.yield %param1, %exp_avg1, %exp_avg_sq1 : f32, f32, f32
    }
    return %param1_f32, %exp_avg1_f32, %exp_avg_sq1_f32, %step1_f32, %param1_bf16, %exp_avg1_bf16, %exp_avg_sq1_bf16, %step1_bf16 : !list_f32, !list_f32, !list_f32, !each_f32, !list_bf16, !list_bf16, !list_bf16, !each_f32
  }
}

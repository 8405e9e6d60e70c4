!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
module {
  func.func @adamw(%param: !list {foreach.donate = 0 : i64}, %grad: !list, %exp_avg: !list {foreach.donate = 1 : i64, foreach.initial = 0.000000e+00 : f32}, %exp_avg_sq: !list {foreach.donate = 2 : i64, foreach.initial = 0.000000e+00 : f32}, %step: !each {foreach.donate = 3 : i64, foreach.initial = 0.000000e+00 : f32}, %lr: tensor<f64> {foreach.default = 1.000000e-03 : f64}, %beta1: tensor<f64> {foreach.default = 9.000000e-01 : f64}, %beta2: tensor<f64> {foreach.default = 0.99899999999999999 : f64}, %eps: tensor<f64> {foreach.default = 1.000000e-08 : f64}, %weight_decay: tensor<f64> {foreach.default = 1.000000e-02 : f64}) -> (!list, !list, !list, !each) {
    %w1, %w2 = foreach.map (%beta1 = %beta1, %beta2 = %beta2 : tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %one = arith.constant 1.000000e+00 : f64
      %w1 = arith.subf %one, %beta1 : f64
      %w2 = arith.subf %one, %beta2 : f64
      foreach.yield %w1, %w2 : f64, f64
    }
    %step1, %bc1, %root = foreach.map (%step = %step : !each, %beta1 = %beta1, %beta2 = %beta2 : tensor<f64>) -> (!each, !each, !each) {
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
    %param1, %exp_avg1, %exp_avg_sq1 = foreach.map (%param = %param, %grad = %grad, %exp_avg = %exp_avg, %exp_avg_sq = %exp_avg_sq : !list, %bc1 = %bc1, %root = %root : !each, %lr = %lr as f32, %beta2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %eps = %eps as f32, %weight_decay = %weight_decay as f32 : tensor<f64>) -> (!list, !list, !list) {
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
    return %param1, %exp_avg1, %exp_avg_sq1, %step1 : !list, !list, !list, !each
  }
}

!list = !foreach.list<tensor<?xf32>>
!scalar = tensor<f64>
func.func @lion(%param: !list {foreach.donate = 0 : i64}, %grad: !list,
                %exp_avg: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
                %lr: !scalar {foreach.default = 1.0e-4 : f64}, %beta1: !scalar, %beta2: !scalar,
                %weight_decay: !scalar) -> (!list, !list) {
  %w1, %w2 = foreach.map (%beta1 = %beta1, %beta2 = %beta2 : !scalar) -> (!scalar, !scalar) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %beta1 : f64
    %w2 = arith.subf %one, %beta2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %param1, %exp_avg1 = foreach.map (%param = %param, %grad = %grad, %exp_avg = %exp_avg : !list,
      %lr = %lr as f32, %weight_decay = %weight_decay as f32, %beta1 = %beta1 as f32, %beta2 = %beta2 as f32,
      %w1 = %w1 as f32, %w2 = %w2 as f32 : !scalar) -> (!list, !list) {
    %old = arith.mulf %beta1, %exp_avg : f32
    %new = arith.mulf %w1, %grad : f32
    %mix = arith.addf %old, %new : f32
    %u = foreach.sign %mix : f32
    %one = arith.constant 1.0 : f32
    %shrink = arith.mulf %lr, %weight_decay : f32
    %decay = arith.subf %one, %shrink : f32
    %decayed = arith.mulf %param, %decay : f32
    %change = arith.mulf %lr, %u : f32
    %param1 = arith.subf %decayed, %change : f32
    %kept = arith.mulf %beta2, %exp_avg : f32
    %added = arith.mulf %w2, %grad : f32
    %exp_avg1 = arith.addf %kept, %added : f32
    foreach.yield %param1, %exp_avg1 : f32, f32
  }
  return %param1, %exp_avg1 : !list, !list
}

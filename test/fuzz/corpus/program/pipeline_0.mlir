!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!dbl = !foreach.list<tensor<f64>>
!num = tensor<f64>
func.func @adamw(%param: !list {foreach.donate = 0 : i64}, %grad: !list,
    %exp_avg: !list {foreach.donate = 1 : i64}, %exp_avg_sq: !list {foreach.donate = 2 : i64},
    %step: !each {foreach.donate = 3 : i64},
    %lr: !num {foreach.default = 0.001 : f64}, %beta1: !num {foreach.default = 0.9 : f64}, %beta2: !num {foreach.default = 0.999 : f64},
    %eps: !num {foreach.default = 1.0e-8 : f64}, %weight_decay: !num {foreach.default = 0.01 : f64}) -> (!list, !list, !list, !each) {
  %t1, %bc1, %root = foreach.map (%t = %step : !each, %b1 = %beta1, %b2 = %beta2 : !num) -> (!each, !dbl, !dbl) {
    %onef = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %onef : f32
    %n = arith.fptosi %t1 : f32 to i32
    %one = arith.constant 1.0 : f64
    %p1 = math.fpowi %b1, %n : f64, i32
    %p2 = math.fpowi %b2, %n : f64, i32
    %bc1 = arith.subf %one, %p1 : f64
    %bc2 = arith.subf %one, %p2 : f64
    %root = math.sqrt %bc2 : f64
    foreach.yield %t1, %bc1, %root : f32, f64, f64
  }
  %w1, %w2 = foreach.map (%b1 = %beta1, %b2 = %beta2 : !num) -> (!num, !num) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %b1 : f64
    %w2 = arith.subf %one, %b2 : f64
    foreach.yield %w1, %w2 : f64, f64
  }
  %p1, %m1, %v1 = foreach.map (%p = %param, %g = %grad, %m = %exp_avg, %v = %exp_avg_sq : !list,
      %bc1 = %bc1 as f32, %root = %root as f32 : !dbl,
      %lr = %lr as f32, %b2 = %beta2 as f32, %w1 = %w1 as f32, %w2 = %w2 as f32, %eps = %eps as f32, %wd = %weight_decay as f32 : !num)
      -> (!list, !list, !list) {
    %one = arith.constant 1.0 : f32
    %lw = arith.mulf %lr, %wd : f32
    %decay = arith.subf %one, %lw : f32
    %shrunk = arith.mulf %p, %decay : f32
    %gm = arith.subf %g, %m : f32
    %dm = arith.mulf %w1, %gm : f32
    %m1 = arith.addf %m, %dm : f32
    %bv = arith.mulf %b2, %v : f32
    %wg = arith.mulf %w2, %g : f32
    %wgg = arith.mulf %wg, %g : f32
    %v1 = arith.addf %bv, %wgg : f32
    %rv = math.sqrt %v1 : f32
    %vh = arith.divf %rv, %root : f32
    %den = arith.addf %vh, %eps : f32
    %q = arith.divf %m1, %den : f32
    %size = arith.divf %lr, %bc1 : f32
    %step = arith.mulf %size, %q : f32
    %p1 = arith.subf %shrunk, %step : f32
    foreach.yield %p1, %m1, %v1 : f32, f32, f32
  }
  return %p1, %m1, %v1, %t1 : !list, !list, !list, !each
}

// Adam-mini: Adam with one second moment for each row of a matrix (Zhang et al., Adam-mini: Use Fewer Learning Rates To
// Gain More), without the corrections of the first steps.
//
//   v = beta2 v + (1 - beta2) sum over j of g^2
//   m = beta1 m + (1 - beta1) g
//   p = p - lr m / (sqrt(v) + eps)

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>
func.func @adam_mini(%param: !mats {foreach.donate = 0 : i64}, %grad: !mats,
                     %exp_avg: !mats {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
                     %row_sq: !list {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
                     %lr: !num {foreach.default = 1.0e-3 : f64}, %beta1: !num {foreach.default = 0.9 : f64},
                     %beta2: !num {foreach.default = 0.999 : f64}, %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!mats, !mats, !list) {
  %sum = foreach.reduce add along j (%g = %grad[i, j] : !mats) -> !list {
    %s = arith.mulf %g, %g : f32
    foreach.yield %s : f32
  }
  %sq = foreach.map (%v = %row_sq, %s = %sum : !list, %beta2 = %beta2 : !num) -> !list {
    %one64 = arith.constant 1.0 : f64
    %keep = arith.truncf %beta2 : f64 to f32
    %rest64 = arith.subf %one64, %beta2 : f64
    %rest = arith.truncf %rest64 : f64 to f32
    %a = arith.mulf %v, %keep : f32
    %b = arith.mulf %s, %rest : f32
    %c = arith.addf %a, %b : f32
    foreach.yield %c : f32
  }
  %p1, %m1 = foreach.map (%p = %param[i, j], %g = %grad[i, j], %m = %exp_avg[i, j] : !mats, %v = %sq[i] : !list, %lr = %lr as f32 : !num, %b1 = %beta1 : !num, %eps = %eps as f32 : !num) -> (!mats, !mats) {
    %one64 = arith.constant 1.0 : f64
    %keep = arith.truncf %b1 : f64 to f32
    %rest64 = arith.subf %one64, %b1 : f64
    %rest = arith.truncf %rest64 : f64 to f32
    %a = arith.mulf %m, %keep : f32
    %b = arith.mulf %g, %rest : f32
    %c = arith.addf %a, %b : f32
    %root = math.sqrt %v : f32
    %d = arith.addf %root, %eps : f32
    %h = arith.divf %lr, %d : f32
    %u = arith.mulf %c, %h : f32
    %n = arith.subf %p, %u : f32
    foreach.yield %n, %c : f32, f32
  }
  return %p1, %m1, %sq : !mats, !mats, !list
}

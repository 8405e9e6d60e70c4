// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

// Lion: the sign of an interpolated momentum, decoupled weight decay. Values that
// depend only on hyperparameters are computed once, in double.

!list = !foreach.list<tensor<?xf32>>
!scalar = tensor<f64>

// CHECK-LABEL: func.func @lion(
// CHECK-SAME:    !foreach.list<tensor<?xf32>> {foreach.donate = 0 : i64}
// CHECK-SAME:    tensor<f64> {foreach.default = 1.000000e-04 : f64}
func.func @lion(%param: !list {foreach.donate = 0 : i64}, %grad: !list,
                %exp_avg: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
                %lr: !scalar {foreach.default = 1.0e-4 : f64}, %beta1: !scalar, %beta2: !scalar,
                %weight_decay: !scalar) -> (!list, !list) {
  // CHECK: %[[UNIFORM:.+]]:2 = foreach.map (%beta1{{.*}} = %{{.*}}, %beta2{{.*}} = %{{.*}} : tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %w1, %w2 = foreach.map (%beta1 = %beta1, %beta2 = %beta2 : !scalar) -> (!scalar, !scalar) {
    %one = arith.constant 1.0 : f64
    %w1 = arith.subf %one, %beta1 : f64
    %w2 = arith.subf %one, %beta2 : f64
    // CHECK: foreach.yield %{{.*}}, %{{.*}} : f64, f64
    foreach.yield %w1, %w2 : f64, f64
  }
  // CHECK: foreach.map (%param{{.*}} = %{{.*}}, %grad{{.*}} = %{{.*}}, %exp_avg{{.*}} = %{{.*}} : !foreach.list<tensor<?xf32>>,
  // CHECK-SAME: %w1 = %[[UNIFORM]]#0 as f32, %w2 = %[[UNIFORM]]#1 as f32 : tensor<f64>)
  // CHECK-SAME: -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>) {
  %param1, %exp_avg1 = foreach.map (%param = %param, %grad = %grad, %exp_avg = %exp_avg : !list,
      %lr = %lr as f32, %weight_decay = %weight_decay as f32, %beta1 = %beta1 as f32, %beta2 = %beta2 as f32,
      %w1 = %w1 as f32, %w2 = %w2 as f32 : !scalar) -> (!list, !list) {
    %old = arith.mulf %beta1, %exp_avg : f32
    %new = arith.mulf %w1, %grad : f32
    %mix = arith.addf %old, %new : f32
    // CHECK: foreach.sign %{{.*}} : f32
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

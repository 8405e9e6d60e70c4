// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

// Clipping and AdamW as a program of two sweeps: the norm of all gradients, then
// the update, in reverse order, so that it finds the gradients in cache.

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!scalar = tensor<f64>

// CHECK-LABEL: fused.program @clip_adamw(
// CHECK-SAME: !foreach.list<tensor<?xf32>> {foreach.donate = 0 : i64}
fused.program @clip_adamw(%param: !list {foreach.donate = 0 : i64}, %grad: !list,
                         %exp_avg: !list {foreach.donate = 1 : i64}, %exp_avg_sq: !list {foreach.donate = 2 : i64},
                         %decay: !each, %size: !each, %root: !each, %w1: !scalar, %beta2: !scalar, %w2: !scalar, %eps: !scalar,
                         %max_norm: !scalar {foreach.default = 1.0 : f64}) -> (!list, !list, !list, !scalar) {
  // CHECK: fused.sweep (%g = %{{.*}} as f64 : !foreach.list<tensor<?xf32>>) -> tensor<f64> {
  %sum, %norm, %clip = fused.sweep (%g = %grad as f64 : !list) -> !scalar {
    %square = arith.mulf %g, %g : f64
    // CHECK: fused.reduce add list %{{.*}} : f64
    %sum = fused.reduce add list %square : f64
    fused.yield %sum : f64
  // CHECK: } epilogue [%sum{{.*}}: f64] (%max = %{{.*}} : tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  } epilogue [%sum : f64] (%max = %max_norm : !scalar) -> (!scalar, !scalar) {
    %norm = math.sqrt %sum : f64
    %tiny = arith.constant 1.0e-6 : f64
    %padded = arith.addf %norm, %tiny : f64
    %ratio = arith.divf %max, %padded : f64
    %one = arith.constant 1.0 : f64
    %clip = arith.minimumf %ratio, %one : f64
    fused.yield %norm, %clip : f64, f64
  }
  // CHECK: fused.sweep reversed (%p = %{{.*}}, %raw = %{{.*}}, %m = %{{.*}}, %v = %{{.*}} : !foreach.list<tensor<?xf32>>,
  // CHECK-SAME: %decay{{.*}} = %{{.*}}, %size{{.*}} = %{{.*}}, %root{{.*}} = %{{.*}} : !foreach.list<tensor<f32>>,
  // CHECK-SAME: %clip = %{{.*}} as f32, %w1{{.*}} = %{{.*}} as f32,
  %param1, %exp_avg1, %exp_avg_sq1 = fused.sweep reversed (%p = %param, %raw = %grad, %m = %exp_avg, %v = %exp_avg_sq : !list,
      %decay = %decay, %size = %size, %root = %root : !each, %clip = %clip as f32, %w1 = %w1 as f32,
      %beta2 = %beta2 as f32, %w2 = %w2 as f32, %eps = %eps as f32 : !scalar) -> (!list, !list, !list) {
    %g = arith.mulf %raw, %clip : f32
    %decayed = arith.mulf %p, %decay : f32
    %gap = arith.subf %g, %m : f32
    %move = arith.mulf %w1, %gap : f32
    %m1 = arith.addf %m, %move : f32
    %kept = arith.mulf %beta2, %v : f32
    %weighted = arith.mulf %w2, %g : f32
    %square = arith.mulf %weighted, %g : f32
    %v1 = arith.addf %kept, %square : f32
    %deviation = math.sqrt %v1 : f32
    %corrected = arith.divf %deviation, %root : f32
    %denom = arith.addf %corrected, %eps : f32
    %quotient = arith.divf %m1, %denom : f32
    %change = arith.mulf %size, %quotient : f32
    %p1 = arith.subf %decayed, %change : f32
    // CHECK: fused.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32
    fused.yield %p1, %m1, %v1 : f32, f32, f32
  }
  // CHECK: fused.yield %{{.*}} : !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, tensor<f64>
  fused.yield %param1, %exp_avg1, %exp_avg_sq1, %norm : !list, !list, !list, !scalar
}

// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: fused.program @bias_corrections
fused.program @bias_corrections(%param: !list, %step: !each, %beta: tensor<f64>) -> (!list, !each) {
  %r, %next = fused.sweep (%p = %param : !list, %step = %step : !each, %beta = %beta : tensor<f64>) -> (!list, !each) {
    // CHECK: %[[PRECOMPUTED:.*]]:2 = fused.precompute (%t = %step, %b = %beta : f32, f64) attributes {note = "kept"} -> (f32, f64) {
    %t1, %bc = fused.precompute (%t = %step, %b = %beta : f32, f64) attributes {note = "kept"} -> (f32, f64) {
      %one = arith.constant 1.0 : f32
      %t1 = arith.addf %t, %one : f32
      %n = arith.fptosi %t1 : f32 to i32
      %power = math.fpowi %b, %n : f64, i32
      // CHECK: fused.yield %{{.*}}, %{{.*}} : f32, f64
      fused.yield %t1, %power : f32, f64
    }
    %q = arith.truncf %bc : f64 to f32
    %s = arith.mulf %p, %q : f32
    // CHECK: fused.yield %{{.*}}, %[[PRECOMPUTED]]#0 : f32, f32
    fused.yield %s, %t1 : f32, f32
  }
  fused.yield %r, %next : !list, !each
}

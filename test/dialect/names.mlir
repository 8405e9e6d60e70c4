// RUN: %heddle_opt %s | FileCheck %s
// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

// The names of bound operands and carried values are part of a program: text and
// bytecode keep them.

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: func.func @maps
func.func @maps(%x: !list, %y: tensor<f32>) -> !list {
  // CHECK: foreach.map (%first = %{{.*}} : !foreach.list<tensor<?xf32>>, %second = %{{.*}} : tensor<f32>)
  %r = foreach.map (%first = %x : !list, %second = %y : tensor<f32>) -> !list {
    // CHECK-NEXT: arith.mulf %first, %second : f32
    %p = arith.mulf %first, %second : f32
    foreach.yield %p : f32
  }
  return %r : !list
}

// CHECK-LABEL: func.func @loops
func.func @loops(%x: !list, %more: tensor<i1>, %limit: tensor<i32>) -> (!list, tensor<i32>) {
  // CHECK: foreach.while (%iterate = %{{.*}} : !foreach.list<tensor<?xf32>>)
  %r, %iterations = foreach.while (%iterate = %x : !list) upto %limit -> (!list, tensor<i32>) {
    // CHECK-NEXT: foreach.yield %iterate while
    foreach.yield %iterate while %more : !list while tensor<i1>
  }
  return %r, %iterations : !list, tensor<i32>
}

// CHECK-LABEL: fused.program @sweeps(
fused.program @sweeps(%momentum: !list, %rate: tensor<f64>) -> tensor<f32> {
  // CHECK: fused.sweep (%m = %{{.*}} : !foreach.list<tensor<?xf32>>, %lr = %{{.*}} as f32 : tensor<f64>) -> tensor<f32> {
  %total, %root = fused.sweep (%m = %momentum : !list, %lr = %rate as f32 : tensor<f64>) -> tensor<f32> {
    // CHECK-NEXT: arith.mulf %m, %lr : f32
    %s = arith.mulf %m, %lr : f32
    %total = fused.reduce add list %s : f32
    fused.yield %total : f32
  // CHECK: epilogue [%whole: f32] (%again = %{{.*}} : tensor<f64>) -> tensor<f32> {
  } epilogue [%whole : f32] (%again = %rate : tensor<f64>) -> tensor<f32> {
    // CHECK-NEXT: math.sqrt %whole : f32
    %root = math.sqrt %whole : f32
    fused.yield %root : f32
  }
  fused.yield %root : tensor<f32>
}

// CHECK-LABEL: fused.program @precomputes(
fused.program @precomputes(%step: !foreach.list<tensor<f32>>) -> !foreach.list<tensor<f32>> {
  %r = fused.sweep (%t = %step : !foreach.list<tensor<f32>>) -> !foreach.list<tensor<f32>> {
    // CHECK: fused.precompute (%now = %t : f32) -> f32 {
    %e = fused.precompute (%now = %t : f32) -> f32 {
      // CHECK-NEXT: math.exp %now : f32
      %e = math.exp %now : f32
      fused.yield %e : f32
    }
    fused.yield %e : f32
  }
  fused.yield %r : !foreach.list<tensor<f32>>
}

// RUN: %heddle_opt --foreach-expand-shorthands --split-input-file %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>

// Calls are replaced by operations, also calls in functions, and the functions are erased.
// CHECK-LABEL: module
// CHECK-NOT: @square
// CHECK-NOT: @fourth
// CHECK:     func.func @calls
// CHECK:       foreach.map (%x =
// CHECK-NEXT:    %[[A:.*]] = arith.mulf %x, %x : f32
// CHECK-NEXT:    %[[B:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK-NEXT:    foreach.yield %[[B]] : f32
// CHECK-NOT: func.call
module {
  func.func private @square(%x: f32) -> f32 {
    %y = arith.mulf %x, %x : f32
    return %y : f32
  }
  func.func private @fourth(%x: f32) -> f32 {
    %s = func.call @square(%x) : (f32) -> f32
    %f = func.call @square(%s) : (f32) -> f32
    return %f : f32
  }
  func.func @calls(%x: !list) -> !list {
    %y = foreach.map (%x = %x : !list) -> !list {
      %f = func.call @fourth(%x) : (f32) -> f32
      foreach.yield %f : f32
    }
    return %y : !list
  }
}

// -----

!list = !foreach.list<tensor<?xf32>>

// Scalar operations outside of bodies are maps of one operation, also in loops.
// CHECK-LABEL: func.func @scalars
// CHECK:         %[[HALF:.*]] = foreach.map () -> tensor<f64> {
// CHECK-NEXT:      %[[C:.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:      foreach.yield %[[C]] : f64
// CHECK:         %[[RATE:.*]] = foreach.map (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %[[HALF]] : tensor<f64>) -> tensor<f64> {
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f64
// CHECK-NEXT:      foreach.yield %[[P]] : f64
// CHECK:         foreach.map (%{{.*}} = %[[RATE]] : tensor<f64>) -> tensor<i1> {
// CHECK-NEXT:      math.isfinite
// CHECK:         foreach.map (%x = {{.*}}%[[RATE]] as f32
func.func @scalars(%x: !list, %lr: tensor<f64>) -> (!list, tensor<i1>) {
  %half = arith.constant dense<0.5> : tensor<f64>
  %rate = arith.mulf %lr, %half : tensor<f64>
  %fine = math.isfinite %rate : tensor<f64>
  %y = foreach.map (%x = %x : !list, %r = %rate as f32 : tensor<f64>) -> !list {
    %y = arith.mulf %x, %r : f32
    foreach.yield %y : f32
  }
  return %y, %fine : !list, tensor<i1>
}

// -----

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: func.func @loop
// CHECK:         foreach.while (%y = %{{.*}} : {{.*}}) upto %[[N:.*]] -> ({{.*}}, tensor<i32>)
// CHECK:           %[[MORE:.*]] = foreach.map (%{{.*}} = %[[N]] : tensor<i32>) -> tensor<i1> {
// CHECK-NEXT:        %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:        foreach.yield %[[TRUE]] : i1
// CHECK:           foreach.yield %{{.*}} while %[[MORE]]
func.func @loop(%x: !list) -> (!list, tensor<i32>) {
  %n = arith.constant dense<3> : tensor<i32>
  %y, %k = foreach.while (%y = %x : !list) upto %n -> (!list, tensor<i32>) {
    %z = foreach.map (%y = %y : !list) -> !list {
      %z = arith.addf %y, %y : f32
      foreach.yield %z : f32
    }
    foreach.yield %z : !list
  }
  return %y, %k : !list, tensor<i32>
}

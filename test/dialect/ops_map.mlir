// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: func.func @elements
// CHECK-SAME: (%[[X:.*]]: !foreach.list<tensor<?xf32>>, %[[Y:.*]]: !foreach.list<tensor<?xf32>>)
func.func @elements(%x: !list, %y: !list) -> !list {
  // The type of consecutive operands is written once.
  // CHECK: foreach.map (%a = %[[X]], %b = %[[Y]] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?xf32>> {
  // CHECK-NEXT: %[[S:.*]] = arith.addf %a, %b : f32
  // CHECK-NEXT: foreach.yield %[[S]] : f32
  // CHECK-NEXT: }
  %z = foreach.map (%a = %x, %b = %y : !list) -> !list {
    %s = arith.addf %a, %b : f32
    foreach.yield %s : f32
  }
  return %z : !list
}

// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%c: !mats, %u: !list, %v: !list, %s: !each, %t: tensor<f64>) -> !mats {
  // CHECK: foreach.map (%c = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %u = %{{.*}}[i], %v = %{{.*}}[j] : !foreach.list<tensor<?xf32>>,
  // CHECK-SAME: %s = %{{.*}} : !foreach.list<tensor<f32>>, %t = %{{.*}} as f32 : tensor<f64>) -> !foreach.list<tensor<?x?xf32>> {
  %r = foreach.map (%c = %c : !mats, %u = %u[i], %v = %v[j] : !list, %s = %s : !each, %t = %t as f32 : tensor<f64>)
      -> !mats {
    %0 = arith.addf %c, %u : f32
    %1 = arith.addf %0, %v : f32
    %2 = arith.mulf %1, %s : f32
    %3 = arith.mulf %2, %t : f32
    foreach.yield %3 : f32
  }
  return %r : !mats
}

// A domain may have a larger rank than every operand.
// CHECK-LABEL: func.func @outer
func.func @outer(%u: !list, %v: !list) -> !mats {
  // CHECK: foreach.map (%a = %{{.*}}[i], %b = %{{.*}}[j] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?x?xf32>> {
  %r = foreach.map (%a = %u[i], %b = %v[j] : !list) -> !mats {
    %p = arith.mulf %a, %b : f32
    foreach.yield %p : f32
  }
  return %r : !mats
}

// CHECK-LABEL: func.func @storage_types
func.func @storage_types(%x: !half) -> (!half, !list) {
  // CHECK: foreach.map (%a = %{{.*}} as f32 : !foreach.list<tensor<?xbf16>>) -> (!foreach.list<tensor<?xbf16>>, !foreach.list<tensor<?xf32>>) {
  %r:2 = foreach.map (%a = %x as f32 : !half) -> (!half, !list) {
    // CHECK: foreach.yield %a, %a : f32, f32
    foreach.yield %a, %a : f32, f32
  }
  return %r#0, %r#1 : !half, !list
}

// CHECK-LABEL: func.func @uniform
func.func @uniform(%x: tensor<f64>) -> (tensor<f64>, tensor<i1>) {
  // CHECK: foreach.map (%a = %{{.*}} : tensor<f64>) -> (tensor<f64>, tensor<i1>) {
  %r, %f = foreach.map (%a = %x : tensor<f64>) -> (tensor<f64>, tensor<i1>) {
    %one = arith.constant 1.0 : f64
    %r = arith.subf %one, %a : f64
    %f = arith.cmpf olt, %a, %one : f64
    foreach.yield %r, %f : f64, i1
  }
  return %r, %f : tensor<f64>, tensor<i1>
}

// CHECK-LABEL: func.func @no_operand
func.func @no_operand() -> tensor<i32> {
  // CHECK: foreach.map () -> tensor<i32> {
  %r = foreach.map () -> tensor<i32> {
    %c = arith.constant 7 : i32
    foreach.yield %c : i32
  }
  return %r : tensor<i32>
}

// CHECK-LABEL: func.func @attributes
func.func @attributes(%x: !list) -> !list {
  // CHECK: foreach.map (%a = %{{.*}} : !foreach.list<tensor<?xf32>>) attributes {note = "kept"} -> !foreach.list<tensor<?xf32>> {
  %r = foreach.map (%a = %x : !list) attributes {note = "kept"} -> !list {
    foreach.yield %a : f32
  }
  return %r : !list
}

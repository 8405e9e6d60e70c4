// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK-LABEL: func.func @axes
func.func @axes(%c: !mats) -> (!list, !list, !each, tensor<f32>) {
  // CHECK: foreach.reduce add along i (%x = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>) -> !foreach.list<tensor<?xf32>> {
  %i = foreach.reduce add along i (%x = %c[i, j] : !mats) -> !list { foreach.yield %x : f32 }
  // CHECK: foreach.reduce add along j (%x = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>) -> !foreach.list<tensor<?xf32>> {
  %j = foreach.reduce add along j (%x = %c[i, j] : !mats) -> !list { foreach.yield %x : f32 }
  // CHECK: foreach.reduce add along member (%x = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>) -> !foreach.list<tensor<f32>> {
  %m = foreach.reduce add along member (%x = %c : !mats) -> !each { foreach.yield %x : f32 }
  // CHECK: foreach.reduce add along list (%x = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>) -> tensor<f32> {
  %l = foreach.reduce add along list (%x = %c : !mats) -> tensor<f32> { foreach.yield %x : f32 }
  return %i, %j, %m, %l : !list, !list, !each, tensor<f32>
}

// CHECK-LABEL: func.func @kinds
func.func @kinds(%x: !list, %n: !foreach.list<tensor<?xi32>>, %f: !foreach.list<tensor<?xi1>>) {
  // CHECK: foreach.reduce mul along i (%a = %{{.*}} : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<f32>> {
  %0 = foreach.reduce mul along i (%a = %x : !list) -> !each { foreach.yield %a : f32 }
  // CHECK: foreach.reduce min along i
  %1 = foreach.reduce min along i (%a = %x : !list) -> !each { foreach.yield %a : f32 }
  // CHECK: foreach.reduce max along member (%a = %{{.*}} : !foreach.list<tensor<?xi32>>) -> !foreach.list<tensor<i32>> {
  %2 = foreach.reduce max along member (%a = %n : !foreach.list<tensor<?xi32>>) -> !foreach.list<tensor<i32>> { foreach.yield %a : i32 }
  // CHECK: foreach.reduce any along list (%a = %{{.*}} : !foreach.list<tensor<?xi1>>) -> tensor<i1> {
  %3 = foreach.reduce any along list (%a = %f : !foreach.list<tensor<?xi1>>) -> tensor<i1> { foreach.yield %a : i1 }
  // CHECK: foreach.reduce all along list
  %4 = foreach.reduce all along list (%a = %f : !foreach.list<tensor<?xi1>>) -> tensor<i1> { foreach.yield %a : i1 }
  // CHECK: foreach.reduce logsumexp along i
  %5 = foreach.reduce logsumexp along i (%a = %x : !list) -> !each { foreach.yield %a : f32 }
  // CHECK: foreach.reduce argmax along i (%a = %{{.*}} : !foreach.list<tensor<?xf32>>) -> (!foreach.list<tensor<f32>>, !foreach.list<tensor<i64>>) {
  %6:2 = foreach.reduce argmax along i (%a = %x : !list) -> (!each, !foreach.list<tensor<i64>>) { foreach.yield %a : f32 }
  return
}

// The region computes the element to reduce, over a domain whose rank may exceed
// every operand's rank.
// CHECK-LABEL: func.func @costs_from_points
func.func @costs_from_points(%x: !list, %y: !list) -> !list {
  // CHECK: foreach.reduce min along j (%xi = %{{.*}}[i], %yj = %{{.*}}[j] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?xf32>> {
  %r = foreach.reduce min along j (%xi = %x[i], %yj = %y[j] : !list) -> !list {
    // CHECK: arith.subf %xi, %yj : f32
    %d = arith.subf %xi, %yj : f32
    %c = arith.mulf %d, %d : f32
    foreach.yield %c : f32
  }
  return %r : !list
}

// CHECK-LABEL: func.func @member_scalars
func.func @member_scalars(%x: !each, %scale: tensor<f64>) -> tensor<f64> {
  // CHECK: foreach.reduce add along list (%a = %{{.*}} as f64 : !foreach.list<tensor<f32>>, %s = %{{.*}} : tensor<f64>) -> tensor<f64> {
  %r = foreach.reduce add along list (%a = %x as f64 : !each, %s = %scale : tensor<f64>) -> tensor<f64> {
    %b = arith.mulf %a, %s : f64
    foreach.yield %b : f64
  }
  return %r : tensor<f64>
}

// A shift depends on operands of the result's level or lower.
// CHECK-LABEL: func.func @shifts
func.func @shifts(%c: !mats, %x: !list, %e: !each, %s: tensor<f64>) -> (!list, !list, !each, !each, tensor<f32>) {
  // CHECK: foreach.reduce logsumexp along j
  %j = foreach.reduce logsumexp along j (%c = %c[i, j] : !mats, %x = %x[i] : !list, %s = %s as f32 : tensor<f64>) -> !list {
    %g = arith.addf %x, %s : f32
    // CHECK: foreach.yield %c, %{{.*}} : f32, f32
    foreach.yield %c, %g : f32, f32
  }
  %i = foreach.reduce logsumexp along i (%c = %c[i, j] : !mats, %x = %x[j] : !list) -> !list { foreach.yield %c, %x : f32, f32 }
  %m = foreach.reduce logsumexp along member (%c = %c : !mats, %e = %e : !each) -> !each { foreach.yield %c, %e : f32, f32 }
  %v = foreach.reduce logsumexp along i (%x = %x : !list, %e = %e : !each) -> !each { foreach.yield %x, %e : f32, f32 }
  %l = foreach.reduce logsumexp along list (%c = %c : !mats, %s = %s as f32 : tensor<f64>) -> tensor<f32> { foreach.yield %c, %s : f32, f32 }
  return %j, %i, %m, %v, %l : !list, !list, !each, !each, tensor<f32>
}

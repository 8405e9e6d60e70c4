// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: fused.program @nothing() {
fused.program @nothing() {
  // CHECK-NEXT: fused.yield{{$}}
  fused.yield
}

// CHECK-LABEL: fused.program private @returns_arguments(
// CHECK-SAME: tensor<f64>) -> (!foreach.list<tensor<?xf32>>, tensor<f64>) attributes {note = "kept"} {
fused.program private @returns_arguments(%x: !list, %s: tensor<f64>) -> (!list, tensor<f64>) attributes {note = "kept"} {
  // CHECK-NEXT: fused.yield %{{.*}}, %{{.*}} : !foreach.list<tensor<?xf32>>, tensor<f64>
  fused.yield %x, %s : !list, tensor<f64>
}

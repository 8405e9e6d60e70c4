// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -

!list = !foreach.list<tensor<?xf32>>

// CHECK-LABEL: func.func @guarded
// CHECK-SAME: (%[[P:.*]]: !foreach.list<tensor<?xf32>>, %[[G:.*]]: !foreach.list<tensor<?xf32>>, %[[FLAG:.*]]: tensor<i1>)
func.func @guarded(%param: !list, %grad: !list, %finite: tensor<i1>) -> !list {
  // CHECK: foreach.if %[[FLAG]] -> !foreach.list<tensor<?xf32>> {
  %r = foreach.if %finite -> (!list) {
    // CHECK: foreach.map (%p = %[[P]], %g = %[[G]] : !foreach.list<tensor<?xf32>>)
    %q = foreach.map (%p = %param, %g = %grad : !list) -> !list {
      %d = arith.subf %p, %g : f32
      foreach.yield %d : f32
    }
    // CHECK: foreach.yield %{{.*}} : !foreach.list<tensor<?xf32>>
    foreach.yield %q : !list
  // CHECK: } else (%[[P]])
  } else (%param)
  return %r : !list
}

// CHECK-LABEL: func.func @several
func.func @several(%x: !list, %n: tensor<i32>, %flag: tensor<i1>) -> (!list, tensor<i32>) {
  // CHECK: foreach.if %{{.*}} attributes {note} -> (!foreach.list<tensor<?xf32>>, tensor<i32>) {
  %r:2 = foreach.if %flag attributes {note} -> (!list, tensor<i32>) {
    // CHECK: foreach.yield %{{.*}}, %{{.*}} : !foreach.list<tensor<?xf32>>, tensor<i32>
    foreach.yield %x, %n : !list, tensor<i32>
  // CHECK: } else (%{{.*}}, %{{.*}})
  } else (%x, %n)
  return %r#0, %r#1 : !list, tensor<i32>
}

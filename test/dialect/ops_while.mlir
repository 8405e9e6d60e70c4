// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

// One flag for all: the number of iterations is a device scalar.
// CHECK-LABEL: func.func @for_all
func.func @for_all(%x0: !list, %n0: tensor<i32>, %limit: tensor<i32>) -> (!list, tensor<i32>, tensor<i32>) {
  // CHECK: foreach.while (%x = %{{.*}} : !foreach.list<tensor<?xf32>>, %n = %{{.*}} : tensor<i32>) upto %{{.*}} -> (!foreach.list<tensor<?xf32>>, tensor<i32>, tensor<i32>) {
  %x, %n, %iterations = foreach.while (%x = %x0 : !list, %n = %n0 : tensor<i32>) upto %limit
      -> (!list, tensor<i32>, tensor<i32>) {
    // CHECK: foreach.map (%a = %x : !foreach.list<tensor<?xf32>>)
    %x1 = foreach.map (%a = %x : !list) -> !list {
      %b = arith.mulf %a, %a : f32
      foreach.yield %b : f32
    }
    %more = foreach.map (%n = %n : tensor<i32>) -> tensor<i1> {
      %ten = arith.constant 10 : i32
      %m = arith.cmpi slt, %n, %ten : i32
      foreach.yield %m : i1
    }
    // CHECK: foreach.yield %{{.*}}, %n while %{{.*}} : !foreach.list<tensor<?xf32>>, tensor<i32> while tensor<i1>
    foreach.yield %x1, %n while %more : !list, tensor<i32> while tensor<i1>
  }
  return %x, %n, %iterations : !list, tensor<i32>, tensor<i32>
}

// A flag for each member, and a further value: the number of iterations is a list.
// CHECK-LABEL: func.func @for_each
func.func @for_each(%x0: !each, %limit: tensor<i32>) -> (!each, !each, !foreach.list<tensor<i32>>) {
  // CHECK: foreach.while (%x = %{{.*}} : !foreach.list<tensor<f32>>) upto %{{.*}} attributes {note = 1 : i64} -> (!foreach.list<tensor<f32>>, !foreach.list<tensor<f32>>, !foreach.list<tensor<i32>>) {
  %x, %half, %iterations = foreach.while (%x = %x0 : !each) upto %limit attributes {note = 1 : i64}
      -> (!each, !each, !foreach.list<tensor<i32>>) {
    %half, %more = foreach.map (%a = %x : !each) -> (!each, !foreach.list<tensor<i1>>) {
      %h = arith.constant 0.5 : f32
      %b = arith.mulf %a, %h : f32
      %m = arith.cmpf ogt, %b, %h : f32
      foreach.yield %b, %m : f32, i1
    }
    // CHECK: foreach.yield %{{.*}}, %{{.*}} while %{{.*}} : !foreach.list<tensor<f32>>, !foreach.list<tensor<f32>> while !foreach.list<tensor<i1>>
    foreach.yield %half, %half while %more : !each, !each while !foreach.list<tensor<i1>>
  }
  return %x, %half, %iterations : !each, !each, !foreach.list<tensor<i32>>
}

// Without carried values the number of iterations is the only result.
// CHECK-LABEL: func.func @nothing_carried
func.func @nothing_carried(%flag: tensor<i1>, %limit: tensor<i32>) -> tensor<i32> {
  // CHECK: foreach.while () upto %{{.*}} -> tensor<i32> {
  %iterations = foreach.while () upto %limit -> tensor<i32> {
    // CHECK: foreach.yield while %{{.*}} while tensor<i1>
    foreach.yield while %flag while tensor<i1>
  }
  return %iterations : tensor<i32>
}

// CHECK-LABEL: func.func @without_flag
func.func @without_flag(%x: !foreach.list<tensor<?xf32>>, %n: tensor<i32>) -> tensor<i32> {
  // CHECK: foreach.while (%y = %{{.*}} : !foreach.list<tensor<?xf32>>) upto %{{.*}} -> (!foreach.list<tensor<?xf32>>, tensor<i32>) {
  %y, %k = foreach.while (%y = %x : !foreach.list<tensor<?xf32>>) upto %n -> (!foreach.list<tensor<?xf32>>, tensor<i32>) {
    // CHECK: foreach.yield %y : !foreach.list<tensor<?xf32>>{{$}}
    foreach.yield %y : !foreach.list<tensor<?xf32>>
  }
  return %k : tensor<i32>
}

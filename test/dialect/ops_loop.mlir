// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -

!list = !foreach.list<tensor<?xf32>>
!flag = !foreach.list<tensor<i1>>

// One flag for all.
// CHECK-LABEL: fused.program @for_all
fused.program @for_all(%x0: !list, %limit: tensor<i32>) -> (!list, tensor<f32>, tensor<i32>) {
  // CHECK: fused.loop (%x = %{{.*}} : !foreach.list<tensor<?xf32>>) upto %{{.*}} attributes {note = "kept"} -> (!foreach.list<tensor<?xf32>>, tensor<f32>, tensor<i32>) {
  %x, %sum, %iterations = fused.loop (%x = %x0 : !list) upto %limit attributes {note = "kept"}
      -> (!list, tensor<f32>, tensor<i32>) {
    // CHECK: fused.sweep (%a = %x : !foreach.list<tensor<?xf32>>)
    %y, %sum, %more = fused.sweep (%a = %x : !list) -> (!list, tensor<f32>) {
      %b = arith.mulf %a, %a : f32
      %s = fused.reduce add list %b : f32
      fused.yield %b, %s : f32, f32
    } epilogue [%s : f32] () -> tensor<i1> {
      %one = arith.constant 1.0 : f32
      %m = arith.cmpf ogt, %s, %one : f32
      fused.yield %m : i1
    }
    // CHECK: fused.yield %{{.*}}, %{{.*}} while %{{.*}} : !foreach.list<tensor<?xf32>>, tensor<f32> while tensor<i1>
    fused.yield %y, %sum while %more : !list, tensor<f32> while tensor<i1>
  }
  fused.yield %x, %sum, %iterations : !list, tensor<f32>, tensor<i32>
}

// A flag for each member; loops nest.
// CHECK-LABEL: fused.program @for_each
fused.program @for_each(%x0: !list, %n: tensor<i32>, %flag: !flag)
    -> (!list, !foreach.list<tensor<i32>>) {
  // CHECK: fused.loop (%x = %{{.*}} : !foreach.list<tensor<?xf32>>) upto %[[N:.*]] active %running: !foreach.list<tensor<i1>> -> (!foreach.list<tensor<?xf32>>, !foreach.list<tensor<i32>>) {
  %x, %iterations = fused.loop (%x = %x0 : !list) upto %n active %running : !flag -> (!list, !foreach.list<tensor<i32>>) {
    // CHECK: fused.loop (%y = %x : !foreach.list<tensor<?xf32>>) upto %[[N]] active %inner: !foreach.list<tensor<i1>>
    %y, %t = fused.loop (%y = %x : !list) upto %n active %inner : !flag -> (!list, !foreach.list<tensor<i32>>) {
      fused.yield %y while %inner : !list while !flag
    }
    // CHECK: fused.yield %{{.*}} while %running : !foreach.list<tensor<?xf32>> while !foreach.list<tensor<i1>>
    fused.yield %y while %running : !list while !flag
  }
  fused.yield %x, %iterations : !list, !foreach.list<tensor<i32>>
}

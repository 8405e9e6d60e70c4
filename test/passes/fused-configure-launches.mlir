// Entries, tickets, dependent launches and forms of loops. test/codegen
// tests the numbers of blocks.
// RUN: %heddle_opt --heddle-pipeline --split-input-file %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// The second sweep depends on the first only. Before it waits, it loads elements
// that the first sweep does not write.
// CHECK-LABEL: fused.program @chain
// CHECK:         fused.sweep {{.*}}launch <variants = [<scalars = value, blocks = [[#]]>], arrive = [late]>
// CHECK:         fused.sweep {{.*}}launch <variants = [<scalars = value, blocks = [[#]], evict_first = true>, <scalars = value, blocks = [[#]]>, <scalars = address, blocks = [[#]]>], arrive = [none], wait = [after_loads]>
func.func @chain(%x: !list {foreach.donate = 0 : i64}, %lr: !num) -> !list {
  %s = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
    foreach.yield %x : f64
  }
  %y = foreach.map (%x = %x : !list, %s = %s as f32, %lr = %lr as f32 : !num) -> !list {
    %a = arith.mulf %x, %s : f32
    %b = arith.mulf %a, %lr : f32
    foreach.yield %b : f32
  }
  return %y : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>

// The second sweep reads elements that the first writes.
// CHECK-LABEL: fused.program @written
// CHECK:         fused.sweep {{.*}}arrive = [late]>
// CHECK:         fused.sweep {{.*}}wait = [first]>
func.func @written(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %a = math.absf %x : f32
    foreach.yield %a : f32
  }
  %s = foreach.reduce max along list (%y = %y : !list) -> tensor<f32> {
    foreach.yield %y : f32
  }
  %z = foreach.map (%y = %y : !list, %s = %s : tensor<f32>) -> !list {
    %a = arith.divf %y, %s : f32
    foreach.yield %a : f32
  }
  return %z : !list
}

// -----

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// In a loop, a sweep has one entry, by address, and no dependent launch. One
// launch runs the whole loop.
// CHECK-LABEL: fused.program @loop
// CHECK:         fused.loop name "loop_loop" cooperative <threads = 256, blocks = 2> result_buffers
// CHECK:           fused.sweep {{.*}}launch <variants = [<scalars = address, blocks = [[#]]>], arrive = [late]>
func.func @loop(%x0: !list {foreach.donate = 0 : i64}, %tol: !num, %limit: tensor<i32>) -> (!list, tensor<i32>) {
  %x, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, tensor<i32>) {
    %y = foreach.map (%x = %x : !list) -> !list {
      %h = arith.constant 0.5 : f32
      %a = arith.mulf %x, %h : f32
      foreach.yield %a : f32
    }
    %s = foreach.reduce max along list (%x = %x : !list) -> !num {
      foreach.yield %x : f32
    }
    %more = foreach.map (%s = %s, %t = %tol : !num) -> tensor<i1> {
      %m = arith.cmpf ogt, %s, %t : f32
      foreach.yield %m : i1
    }
    foreach.yield %y while %more : !list while tensor<i1>
  }
  return %x, %iterations : !list, tensor<i32>
}

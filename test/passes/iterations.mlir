// Iteration indices. A matrix loop that reads annealing values and records its
// errors in place has one sweep per iteration.
// RUN: %heddle_opt --foreach-outline-sweeps %s | FileCheck %s --check-prefix=OUTLINE
// RUN: %heddle_opt --heddle-pipeline %s | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!eps = !foreach.list<tensor<?xf64>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// A record is a sweep over the members.
// OUTLINE-LABEL: fused.program @donated
// OUTLINE:         fused.loop
// OUTLINE:           fused.sweep where %active : {{.*}}[i, j] : {{.*}}[iteration] as f32 :
// OUTLINE:           fused.sweep where %active : !foreach.list<tensor<i1>> (%{{.*}} = %{{.*}} : !foreach.list<tensor<f32>>, %[[INTO:.*]] = %h[iteration] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<?xf32>> {
// OUTLINE-NEXT:        %[[R:.*]] = fused.record %{{.*}} in %[[INTO]] : f32 in f32
// OUTLINE-NEXT:        fused.yield %[[R]] : f32

// CHECK-LABEL: fused.program @donated
// An iteration moves one entry of a vector: 8 of the bytes read belong to eps, 4 of
// the bytes written to the history. The flags are copied, because the sweep that
// counts iterations reads the old ones.
// CHECK-SAME:    #fused.traffic<argument = 4, rank = 0, read = 30, written = 14, per_iteration = true>
// CHECK:         fused.loop {{.*}}result_buffers [6, 2, 7, 8]
// CHECK-NEXT:      {{.*}}fused.sweep where %active {{.*}}schedule #fused.schedule<rows
// CHECK-SAME:        result_buffers [6, 2, {{[0-9]+}}, 7]
// CHECK-SAME:        [iteration] as f32 : !foreach.list<tensor<?xf64>>, %[[H:.*]] = %h[iteration] : !foreach.list<tensor<?xf32>>
// CHECK:             %[[S:.*]] = fused.reduce add member
// CHECK-NEXT:        fused.record %[[S]] in %[[H]] : f32 in f32
// CHECK-NOT:       fused.sweep
// CHECK:           fused.yield
func.func @donated(%x: !mats, %u0: !list, %history: !list {foreach.donate = 1 : i64}, %eps: !eps, %tol: !each,
                   %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %h, %iterations = foreach.while (%u = %u0, %h = %history : !list) upto %limit -> (!list, !list, !iteration) {
    %r = foreach.reduce add along j (%x = %x[i, j] : !mats, %u = %u[i] : !list, %e = %eps[iteration] as f32 : !eps) -> !list {
      %d = arith.divf %x, %e : f32
      %y = arith.addf %d, %u : f32
      foreach.yield %y : f32
    }
    %err = foreach.reduce add along i (%r = %r : !list) -> !each {
      foreach.yield %r : f32
    }
    %h1 = foreach.record %err in %h : !each in !list
    %more = foreach.map (%e = %err, %t = %tol : !each) -> !flag {
      %m = arith.cmpf ogt, %e, %t : f32
      foreach.yield %m : i1
    }
    foreach.yield %r, %h1 while %more : !list, !list while !flag
  }
  return %u, %h, %iterations : !list, !list, !iteration
}

// A carried value that is not donated is copied to the buffer of the result before
// the loop. A device scalar is recorded for every member, after the sweep that
// computes it.
// CHECK-LABEL: fused.program @kept
// CHECK-SAME:    result_buffers = array<i64: 3>
// CHECK:         fused.loop {{.*}}result_buffers [3, {{.*}} (%h = %{{.*}})
// CHECK:           fused.reduce add list
// CHECK:           result_buffers [3] {{.*}}[iteration] : !foreach.list<tensor<?xf32>>
// CHECK:             fused.record
func.func @kept(%x: !list, %history: !list, %limit: tensor<i32>) -> !list {
  %h, %iterations = foreach.while (%h = %history : !list) upto %limit -> (!list, tensor<i32>) {
    %s = foreach.reduce add along list (%x = %x : !list) -> tensor<f32> {
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f32
      %y = arith.mulf %x, %f : f32
      foreach.yield %y : f32
    }
    %h1 = foreach.record %s in %h : tensor<f32> in !list
    %more = foreach.map (%s = %s : tensor<f32>) -> tensor<i1> {
      %zero = arith.constant 0.0 : f32
      %m = arith.cmpf oge, %s, %zero : f32
      foreach.yield %m : i1
    }
    foreach.yield %h1 while %more : !list while tensor<i1>
  }
  return %h : !list
}

// Expensive math on the number of the iteration is not known before the loop.
// CHECK-LABEL: fused.program @power_of_the_iteration
// CHECK:         fused.loop
// CHECK-NOT:       fused.precompute
// CHECK:           foreach.iteration
// CHECK:           math.fpowi
func.func @power_of_the_iteration(%x: !list, %limit: tensor<i32>, %go: tensor<i1>) -> !list {
  %y, %iterations = foreach.while (%y = %x : !list) upto %limit -> (!list, tensor<i32>) {
    %y1 = foreach.map (%y = %y : !list) -> !list {
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f32
      %two = arith.constant -2 : i32
      %p = math.fpowi %f, %two : f32, i32
      %z = arith.mulf %y, %p : f32
      foreach.yield %z : f32
    }
    foreach.yield %y1 while %go : !list while tensor<i1>
  }
  return %y : !list
}

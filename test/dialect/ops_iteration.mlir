// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --mlir-print-op-generic %s > %t
// RUN: %heddle_opt --mlir-print-op-generic %t | diff %t -
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!halfs = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>

// Each iteration reads an entry of `epsilons` and records its error.
// CHECK-LABEL: func.func @anneal
func.func @anneal(%x: !mats, %epsilons: !list, %errors: !halfs, %limit: tensor<i32>)
    -> (!halfs, !foreach.list<tensor<i32>>) {
  // CHECK: foreach.while (%h = %{{.*}} : !foreach.list<tensor<?xbf16>>)
  %h, %iterations = foreach.while (%h = %errors : !halfs) upto %limit -> (!halfs, !foreach.list<tensor<i32>>) {
    // CHECK: foreach.reduce add along member (%a = %{{.*}} : !foreach.list<tensor<?x?xf32>>, %e = %{{.*}}[iteration] as f64 : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<f32>>
    %sum = foreach.reduce add along member (%a = %x[i, j] : !mats, %e = %epsilons[iteration] as f64 : !list) -> !each {
      %w = arith.extf %a : f32 to f64
      %p = arith.mulf %w, %e : f64
      foreach.yield %p : f64
    }
    // CHECK: foreach.map (%s = %{{.*}} : !foreach.list<tensor<f32>>, %e = %{{.*}}[next], %f = %{{.*}}[first] : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<i1>>
    %more = foreach.map (%s = %sum : !each, %e = %epsilons[next], %f = %epsilons[first] : !list) -> !flag {
      // CHECK: foreach.iteration : i32
      %k = foreach.iteration : i32
      %t = arith.sitofp %k : i32 to f32
      %b = arith.addf %e, %t : f32
      %m = arith.cmpf ogt, %s, %b : f32
      foreach.yield %m : i1
    }
    // CHECK: foreach.record %{{.*}} in %h : !foreach.list<tensor<f32>> in !foreach.list<tensor<?xbf16>>
    %h1 = foreach.record %sum in %h : !each in !halfs
    foreach.yield %h1 while %more : !halfs while !flag
  }
  return %h, %iterations : !halfs, !foreach.list<tensor<i32>>
}

// CHECK-LABEL: fused.program @program
fused.program @program(%x: !mats, %epsilons: !list, %errors: !halfs, %limit: tensor<i32>) -> !halfs {
  %h, %iterations = fused.loop (%h = %errors : !halfs) upto %limit active %active : !flag
      -> (!halfs, !foreach.list<tensor<i32>>) {
    // CHECK: (%a = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %e = %{{.*}}[iteration] : !foreach.list<tensor<?xf32>>, %[[INTO:.*]] = %h[iteration] as f32 : !foreach.list<tensor<?xbf16>>)
    %h1, %more = fused.sweep where %active : !flag (%a = %x[i, j] : !mats, %e = %epsilons[iteration] : !list,
                                                    %into = %h[iteration] as f32 : !halfs) -> (!halfs, !flag) {
      %p = arith.mulf %a, %e : f32
      %sum = fused.reduce add member %p : f32
      // CHECK: fused.record %{{.*}} in %[[INTO]] : f32 in f32
      %r = fused.record %sum in %into : f32 in f32
      %k = foreach.iteration : i32
      %t = arith.sitofp %k : i32 to f32
      %m = arith.cmpf ogt, %sum, %t : f32
      fused.yield %r, %m : f32, i1
    }
    fused.yield %h1 while %more : !halfs while !flag
  }
  fused.yield %h : !halfs
}

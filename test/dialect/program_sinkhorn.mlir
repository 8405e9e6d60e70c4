// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

// Sinkhorn in the log domain over a list of problems: two half-iterations, and a
// flag for each problem, which stops it on the device.

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK-LABEL: func.func @sinkhorn(
func.func @sinkhorn(%log_kernel: !mats, %log_a: !list, %log_b: !list, %u0: !list, %v0: !list, %tol: !each,
                    %limit: tensor<i32>) -> (!list, !list, !each, !iteration) {
  // CHECK: foreach.while (%u = %{{.*}}, %v = %{{.*}} : !foreach.list<tensor<?xf32>>) upto %{{.*}} -> (
  // CHECK-SAME: !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>>, !foreach.list<tensor<i32>>) {
  %u, %v, %error, %iterations = foreach.while (%u = %u0, %v = %v0 : !list) upto %limit -> (!list, !list, !each, !iteration) {
    // CHECK: foreach.reduce logsumexp along j (%l = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %vj = %v[j] : !foreach.list<tensor<?xf32>>)
    // CHECK-SAME: -> !foreach.list<tensor<?xf32>> {
    %row = foreach.reduce logsumexp along j (%l = %log_kernel[i, j] : !mats, %vj = %v[j] : !list) -> !list {
      %x = arith.addf %l, %vj : f32
      foreach.yield %x : f32
    }
    // CHECK: foreach.map (%la = %{{.*}}, %s = %{{.*}} : !foreach.list<tensor<?xf32>>)
    %u1 = foreach.map (%la = %log_a, %s = %row : !list) -> !list {
      %x = arith.subf %la, %s : f32
      foreach.yield %x : f32
    }
    // CHECK: foreach.reduce logsumexp along i (%l = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %ui = %{{.*}}[i] : !foreach.list<tensor<?xf32>>)
    %column = foreach.reduce logsumexp along i (%l = %log_kernel[i, j] : !mats, %ui = %u1[i] : !list) -> !list {
      %x = arith.addf %l, %ui : f32
      foreach.yield %x : f32
    }
    %v1 = foreach.map (%lb = %log_b, %s = %column : !list) -> !list {
      %x = arith.subf %lb, %s : f32
      foreach.yield %x : f32
    }
    // The error of the potentials at the start of the iteration.
    // CHECK: foreach.reduce add along i (%ui = %u, %s = %{{.*}}, %la = %{{.*}} : !foreach.list<tensor<?xf32>>) -> !foreach.list<tensor<f32>> {
    %error = foreach.reduce add along i (%ui = %u, %s = %row, %la = %log_a : !list) -> !each {
      %log_sum = arith.addf %ui, %s : f32
      %sum = math.exp %log_sum : f32
      %a = math.exp %la : f32
      %gap = arith.subf %sum, %a : f32
      %size = math.absf %gap : f32
      foreach.yield %size : f32
    }
    // CHECK: foreach.map (%e = %{{.*}}, %t = %{{.*}} : !foreach.list<tensor<f32>>) -> !foreach.list<tensor<i1>> {
    %more = foreach.map (%e = %error, %t = %tol : !each) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    // CHECK: foreach.yield %{{.*}}, %{{.*}}, %{{.*}} while %{{.*}} : !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>> while !foreach.list<tensor<i1>>
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %u, %v, %error, %iterations : !list, !list, !each, !iteration
}

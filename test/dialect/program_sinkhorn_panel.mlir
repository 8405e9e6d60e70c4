// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s
// RUN: %heddle_opt --emit-bytecode %s | %heddle_opt | FileCheck %s

// A Sinkhorn iteration that reads its matrix once: a row is reduced, and its
// elements, while still on chip, are scaled by the row's new potential and added
// to their columns.

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK-LABEL: fused.program @sinkhorn_panel(
fused.program @sinkhorn_panel(%log_kernel: !mats, %log_a: !list, %log_b: !list, %u0: !list, %v0: !list, %tol: !each,
                             %limit: tensor<i32>) -> (!list, !list, !each, !iteration) {
  // CHECK: fused.loop (%u = %{{.*}}, %v = %{{.*}} : !foreach.list<tensor<?xf32>>) upto %{{.*}} active %active: !foreach.list<tensor<i1>> -> (
  %u, %v, %error, %iterations = fused.loop (%u = %u0, %v = %v0 : !list) upto %limit active %active : !flag
      -> (!list, !list, !each, !iteration) {
    // CHECK: fused.sweep where %active : !foreach.list<tensor<i1>>
    // CHECK-SAME: (%l = %{{.*}}[i, j] : !foreach.list<tensor<?x?xf32>>, %ui = %u[i], %la = %{{.*}}[i], %vj = %v[j], %lb = %{{.*}}[j] : !foreach.list<tensor<?xf32>>, %t = %{{.*}} : !foreach.list<tensor<f32>>)
    %u1, %v1, %error, %more = fused.sweep where %active : !flag
        (%l = %log_kernel[i, j] : !mats, %ui = %u[i], %la = %log_a[i], %vj = %v[j], %lb = %log_b[j] : !list,
         %t = %tol : !each) -> (!list, !list, !each, !flag) {
      %lu = arith.addf %l, %ui : f32
      %x = arith.addf %lu, %vj : f32
      %e = math.exp %x : f32
      // CHECK: fused.reduce add row %{{.*}} : f32
      %sum = fused.reduce add row %e : f32
      %log_sum = math.log %sum : f32
      %du = arith.subf %la, %log_sum : f32
      %u1 = arith.addf %ui, %du : f32
      %scale = math.exp %du : f32
      %scaled = arith.mulf %e, %scale : f32
      // CHECK: fused.reduce add column %{{.*}} : f32
      %column = fused.reduce add column %scaled : f32
      %log_column = math.log %column : f32
      %dv = arith.subf %lb, %log_column : f32
      %v1 = arith.addf %vj, %dv : f32
      %a = math.exp %la : f32
      %gap = arith.subf %sum, %a : f32
      %size = math.absf %gap : f32
      // CHECK: fused.reduce add member %{{.*}} : f32
      %error = fused.reduce add member %size : f32
      %more = arith.cmpf ogt, %error, %t : f32
      fused.yield %u1, %v1, %error, %more : f32, f32, f32, i1
    }
    // CHECK: fused.yield %{{.*}} while %{{.*}} : !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<f32>> while !foreach.list<tensor<i1>>
    fused.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  fused.yield %u, %v, %error, %iterations : !list, !list, !each, !iteration
}

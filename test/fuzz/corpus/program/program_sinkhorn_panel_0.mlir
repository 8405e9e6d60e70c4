!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
fused.program @sinkhorn_panel(%log_kernel: !mats, %log_a: !list, %log_b: !list, %u0: !list, %v0: !list, %tol: !each,
                             %limit: tensor<i32>) -> (!list, !list, !each, !iteration) {
  %u, %v, %error, %iterations = fused.loop (%u = %u0, %v = %v0 : !list) upto %limit active %active : !flag
      -> (!list, !list, !each, !iteration) {
    %u1, %v1, %error, %more = fused.sweep where %active : !flag
        (%l = %log_kernel[i, j] : !mats, %ui = %u[i], %la = %log_a[i], %vj = %v[j], %lb = %log_b[j] : !list,
         %t = %tol : !each) -> (!list, !list, !each, !flag) {
      %lu = arith.addf %l, %ui : f32
      %x = arith.addf %lu, %vj : f32
      %e = math.exp %x : f32
      %sum = fused.reduce add row %e : f32
      %log_sum = math.log %sum : f32
      %du = arith.subf %la, %log_sum : f32
      %u1 = arith.addf %ui, %du : f32
      %scale = math.exp %du : f32
      %scaled = arith.mulf %e, %scale : f32
      %column = fused.reduce add column %scaled : f32
      %log_column = math.log %column : f32
      %dv = arith.subf %lb, %log_column : f32
      %v1 = arith.addf %vj, %dv : f32
      %a = math.exp %la : f32
      %gap = arith.subf %sum, %a : f32
      %size = math.absf %gap : f32
      %error = fused.reduce add member %size : f32
      %more = arith.cmpf ogt, %error, %t : f32
      fused.yield %u1, %v1, %error, %more : f32, f32, f32, i1
    }
    fused.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  fused.yield %u, %v, %error, %iterations : !list, !list, !each, !iteration
}

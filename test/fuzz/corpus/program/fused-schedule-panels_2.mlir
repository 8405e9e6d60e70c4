!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
fused.program @no_shift(%x: !mats, %a: !list, %b: !list, %t: !each, %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %u, %v, %iterations = fused.loop (%u = %a, %v = %b : !list) upto %limit active %active : !flag -> (!list, !list, !iteration) {
    %u1, %v1, %more = fused.sweep where %active : !flag
        (%x = %x[i, j] : !mats, %v = %v[j] : !list, %t = %t : !each) -> (!list, !list, !flag) {
      %m = arith.addf %x, %v : f32
      %r = fused.reduce logsumexp row %m : f32
      %n = arith.mulf %x, %r : f32
      %c = fused.reduce add column %n : f32
      %more = arith.cmpf ogt, %t, %t : f32
      fused.yield %r, %c, %more : f32, f32, i1
    }
    fused.yield %u1, %v1 while %more : !list, !list while !flag
  }
  fused.yield %u, %v, %iterations : !list, !list, !iteration
}

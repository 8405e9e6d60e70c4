!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!halfs = !foreach.list<tensor<?xbf16>>
!flag = !foreach.list<tensor<i1>>
fused.program @program(%x: !mats, %epsilons: !list, %errors: !halfs, %limit: tensor<i32>) -> !halfs {
  %h, %iterations = fused.loop (%h = %errors : !halfs) upto %limit active %active : !flag
      -> (!halfs, !foreach.list<tensor<i32>>) {
    %h1, %more = fused.sweep where %active : !flag (%a = %x[i, j] : !mats, %e = %epsilons[iteration] : !list,
                                                    %into = %h[iteration] as f32 : !halfs) -> (!halfs, !flag) {
      %p = arith.mulf %a, %e : f32
      %sum = fused.reduce add member %p : f32
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

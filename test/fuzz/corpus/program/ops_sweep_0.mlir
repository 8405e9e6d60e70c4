!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @levels(%c: !mats, %u: !list, %v: !list, %s: !each) -> (!mats, !list, !list, !each, tensor<f32>) {
  %e, %r, %k, %n, %t = fused.sweep (%x = %c : !mats, %ui = %u[i], %vj = %v[j] : !list, %m = %s : !each)
      -> (!mats, !list, !list, !each, tensor<f32>) {
    %outer = arith.mulf %ui, %vj : f32
    %e = arith.addf %x, %outer : f32
    %row = fused.reduce add row %e : f32
    %scaled = arith.divf %e, %row : f32
    %column = fused.reduce max column %scaled : f32
    %member = fused.reduce add member %row : f32
    %moved = arith.addf %member, %m : f32
    %list = fused.reduce add list %moved : f32
    fused.yield %scaled, %row, %column, %moved, %list : f32, f32, f32, f32, f32
  }
  fused.yield %e, %r, %k, %n, %t : !mats, !list, !list, !each, tensor<f32>
}

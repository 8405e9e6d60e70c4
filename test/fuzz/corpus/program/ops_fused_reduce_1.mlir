!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @hints(%c: !mats, %a: !list, %b: !list, %e: !each) -> (!list, !list, !each) {
  %r, %s, %m = fused.sweep (%x = %c : !mats, %ai = %a[i], %bj = %b[j] : !list, %e = %e : !each) -> (!list, !list, !each) {
    %row = fused.reduce logsumexp row %x shift %ai : f32
    %0 = fused.reduce logsumexp column %x shift %bj sharing %row : f32
    %1 = fused.reduce logsumexp column %x sharing %row {note = "kept"} : f32
    %2 = fused.reduce logsumexp member %ai from element shift %e : f32
    %3 = fused.reduce logsumexp row %x shift %e : f32
    fused.yield %3, %0, %2 : f32, f32, f32
  }
  fused.yield %r, %s, %m : !list, !list, !each
}

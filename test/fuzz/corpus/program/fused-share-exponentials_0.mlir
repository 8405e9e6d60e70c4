!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
fused.program @balance(%M: !mats, %a: !vecs, %b: !vecs, %p: !vecs, %q: !vecs) -> (!vecs, !vecs) {
  %p1, %q1 = fused.sweep (%m = %M : !mats, %a = %a[i], %p = %p[i], %b = %b[j], %q = %q[j] : !vecs) -> (!vecs, !vecs) {
    %s = arith.subf %a, %p : f32
    %t = arith.subf %b, %q : f32
    %x = arith.addf %m, %q : f32
    %r = fused.reduce logsumexp row %x shift %s : f32
    %u = arith.subf %a, %r : f32
    %y = arith.addf %u, %m : f32
    %c = fused.reduce logsumexp column %y shift %t : f32
    %v = arith.subf %b, %c : f32
    fused.yield %u, %v : f32, f32
  }
  fused.yield %p1, %q1 : !vecs, !vecs
}

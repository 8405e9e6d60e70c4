!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>
fused.program @scaled(%C: !mats, %D: !mats, %f: !vecs, %g: !vecs, %inv_eps: !num) -> (!vecs, !vecs, !vecs) {
  %r, %c, %d = fused.sweep (%c = %C, %d = %D : !mats, %f = %f[i], %g = %g[j] : !vecs, %ie = %inv_eps as f32 : !num) -> (!vecs, !vecs, !vecs) {
    %quarter = arith.constant 0.25 : f32
    %d4 = arith.mulf %quarter, %d : f32
    %gc = arith.subf %g, %c : f32
    %gcd = arith.subf %gc, %d4 : f32
    %x = arith.mulf %gcd, %ie : f32
    %r = fused.reduce logsumexp row %x shift %f : f32
    %ic = arith.mulf %ie, %c : f32
    %nc = arith.negf %ic : f32
    %fr = arith.addf %f, %r : f32
    %ifr = arith.mulf %fr, %ie : f32
    %y0 = arith.addf %nc, %ifr : f32
    %id = arith.mulf %ie, %d : f32
    %four = arith.constant 4.0 : f32
    %id4 = arith.divf %id, %four : f32
    %y = arith.subf %y0, %id4 : f32
    %q = fused.reduce logsumexp column %y : f32
    %dc = arith.addf %d4, %c : f32
    %fdc = arith.subf %f, %dc : f32
    %z = arith.mulf %ie, %fdc : f32
    %s = fused.reduce logsumexp column %z : f32
    fused.yield %r, %q, %s : f32, f32, f32
  }
  fused.yield %r, %c, %d : !vecs, !vecs, !vecs
}

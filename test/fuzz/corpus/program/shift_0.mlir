!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @soft(%M: !mats, %u: !vecs, %v: !vecs) -> (!vecs, !vecs) {
  %most = foreach.reduce max along j (%m = %M : !mats) -> !vecs {
    foreach.yield %m : f32
  }
  %row = foreach.reduce logsumexp along j (%m = %M : !mats, %most = %most[i], %u = %u[i] : !vecs) -> !vecs {
    %shift = arith.subf %most, %u : f32
    foreach.yield %m, %shift : f32, f32
  }
  %column = foreach.reduce logsumexp along i (%m = %M : !mats, %s = %row[i], %v = %v[j] : !vecs) -> !vecs {
    %x = arith.subf %m, %s : f32
    %shift = arith.negf %v : f32
    foreach.yield %x, %shift : f32, f32
  }
  return %row, %column : !vecs, !vecs
}

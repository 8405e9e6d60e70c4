!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @balance(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs, %limit: tensor<i32>, %go: tensor<i1>)
    -> (!vecs, !vecs, tensor<i32>) {
  %p, %q, %iterations = foreach.while (%p = %p0, %q = %q0 : !vecs) upto %limit -> (!vecs, !vecs, tensor<i32>) {
    %row_mass = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %q = %q[j] : !vecs) -> !vecs {
      %x = arith.addf %m, %q : f32
      foreach.yield %x : f32
    }
    %p1 = foreach.map (%r = %log_rows, %s = %row_mass : !vecs) -> !vecs {
      %x = arith.subf %r, %s : f32
      foreach.yield %x : f32
    }
    %column_mass = foreach.reduce logsumexp along i (%m = %M[i, j] : !mats, %p = %p1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %p : f32
      foreach.yield %x : f32
    }
    %q1 = foreach.map (%c = %log_columns, %s = %column_mass : !vecs) -> !vecs {
      %x = arith.subf %c, %s : f32
      foreach.yield %x : f32
    }
    foreach.yield %p1, %q1 while %go : !vecs, !vecs while tensor<i1>
  }
  return %p, %q, %iterations : !vecs, !vecs, tensor<i32>
}

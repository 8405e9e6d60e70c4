!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
func.func @balance(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs,
                   %tol: tensor<f64>, %limit: tensor<i32>) -> (!vecs, !vecs, !each, !foreach.list<tensor<i32>>) {
  %p, %q, %change, %iterations = foreach.while (%p = %p0, %q = %q0 : !vecs) upto %limit -> (!vecs, !vecs, !each, !foreach.list<tensor<i32>>) {
    %row_mass = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %q = %q[j] : !vecs) -> !vecs {
      %x = arith.addf %m, %q : f32
      foreach.yield %x : f32
    }
    %p1 = foreach.map (%r = %log_rows, %s = %row_mass : !vecs) -> !vecs {
      %d = arith.subf %r, %s : f32
      foreach.yield %d : f32
    }
    %column_mass = foreach.reduce logsumexp along i (%m = %M[i, j] : !mats, %p = %p1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %p : f32
      foreach.yield %x : f32
    }
    %q1 = foreach.map (%c = %log_columns, %s = %column_mass : !vecs) -> !vecs {
      %nothing = arith.constant 0xFF800000 : f32
      %most = arith.constant 0x7F800000 : f32
      %reached = arith.subf %c, %s : f32
      %weightless = arith.cmpf oeq, %c, %nothing : f32
      %bounded = arith.cmpf olt, %s, %most : f32
      %inactive = arith.andi %bounded, %weightless : i1
      %q1 = arith.select %inactive, %nothing, %reached : f32
      foreach.yield %q1 : f32
    }
    %change = foreach.reduce max along i (%p = %p, %p1 = %p1 : !vecs) -> !each {
      %d = arith.subf %p1, %p : f32
      %x = math.absf %d : f32
      foreach.yield %x : f32
    }
    %more = foreach.map (%e = %change : !each, %t = %tol as f32 : tensor<f64>) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    foreach.yield %p1, %q1, %change while %more : !vecs, !vecs, !each while !flag
  }
  return %p, %q, %change, %iterations : !vecs, !vecs, !each, !foreach.list<tensor<i32>>
}

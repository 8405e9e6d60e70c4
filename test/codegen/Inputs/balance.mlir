// Scales the rows and columns of exp(M) to given sums, in logarithms. A factor
// relaxes the sums of rows, and a step may be shorter or longer than a full
// step. Each matrix stops independently.

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!num = tensor<f64>

func.func @balance(%M: !mats, %log_rows: !vecs, %log_columns: !vecs, %p0: !vecs, %q0: !vecs,
                   %tau: !num {foreach.default = 0.9 : f64}, %step: !num {foreach.default = 0.75 : f64},
                   %tol: !num {foreach.default = 1.0e-4 : f64}, %limit: tensor<i32> {foreach.default = 12 : i32})
    -> (!vecs, !vecs, !each, !foreach.list<tensor<i32>>) {
  %p, %q, %change, %iterations = foreach.while (%p = %p0, %q = %q0 : !vecs) upto %limit -> (!vecs, !vecs, !each, !foreach.list<tensor<i32>>) {
    %row_mass = foreach.reduce logsumexp along j (%m = %M[i, j] : !mats, %q = %q[j] : !vecs) -> !vecs {
      %x = arith.addf %m, %q : f32
      foreach.yield %x : f32
    }
    %p1 = foreach.map (%r = %log_rows, %s = %row_mass, %p = %p : !vecs, %tau = %tau as f32, %step = %step as f32 : !num) -> !vecs {
      %d = arith.subf %r, %s : f32
      %x = arith.mulf %tau, %d : f32
      %full = arith.subf %x, %p : f32
      %part = arith.mulf %step, %full : f32
      %y = arith.addf %p, %part : f32
      foreach.yield %y : f32
    }
    %column_mass = foreach.reduce logsumexp along i (%m = %M[i, j] : !mats, %p = %p1[i] : !vecs) -> !vecs {
      %x = arith.addf %m, %p : f32
      foreach.yield %x : f32
    }
    %q1 = foreach.map (%c = %log_columns, %s = %column_mass : !vecs) -> !vecs {
      %x = arith.subf %c, %s : f32
      foreach.yield %x : f32
    }
    %change = foreach.reduce max along i (%p = %p, %p1 = %p1 : !vecs) -> !each {
      %d = arith.subf %p1, %p : f32
      %x = math.absf %d : f32
      foreach.yield %x : f32
    }
    %more = foreach.map (%e = %change : !each, %t = %tol as f32 : !num) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    foreach.yield %p1, %q1, %change while %more : !vecs, !vecs, !each while !flag
  }
  return %p, %q, %change, %iterations : !vecs, !vecs, !each, !foreach.list<tensor<i32>>
}

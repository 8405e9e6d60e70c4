// Sinkhorn and Knopp's scaling of a positive matrix to equal sums of its rows and of its columns, by a given number of
// iterations. The positive matrix is exp(-C).
//
//   r = 1 / sum over j of exp(-C) c,  c = 1 / sum over i of exp(-C) r

!element = f32 // of the matrices
!real    = f32 // of the arithmetic and vectors
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!count = tensor<i32>

func.func @matrix_scaling(
    %C: !mats,
    %r0: !vecs {foreach.initial = 1.0 : !real},
    %c0: !vecs {foreach.initial = 1.0 : !real},
    %n: !count {foreach.default = 6 : i32}) -> (!vecs, !vecs, !count) {
  %r, %c, %iterations = foreach.while (%r = %r0, %c = %c0 : !vecs) upto %n -> (!vecs, !vecs, !count) {
    %row_sum = foreach.reduce add along j (%x = %C[i, j] as !real : !mats, %c = %c[j] : !vecs) -> !vecs {
      // k = exp(-x) * c
      %k_1 = arith.negf %x : !real
      %k_2 = math.exp %k_1 : !real
      %k = arith.mulf %k_2, %c : !real
      foreach.yield %k : !real
    }
    %r1 = foreach.map (%s = %row_sum : !vecs) -> !vecs {
      %one = arith.constant 1.0 : !real
      %r1 = arith.divf %one, %s : !real
      foreach.yield %r1 : !real
    }
    %column_sum = foreach.reduce add along i (%x = %C[i, j] as !real : !mats, %r = %r1[i] : !vecs) -> !vecs {
      // k = exp(-x) * r
      %k_1 = arith.negf %x : !real
      %k_2 = math.exp %k_1 : !real
      %k = arith.mulf %k_2, %r : !real
      foreach.yield %k : !real
    }
    %c1 = foreach.map (%s = %column_sum : !vecs) -> !vecs {
      %one = arith.constant 1.0 : !real
      %c1 = arith.divf %one, %s : !real
      foreach.yield %c1 : !real
    }
    foreach.yield %r1, %c1 : !vecs, !vecs
  }
  return %r, %c, %iterations : !vecs, !vecs, !count
}

// Weight normalization: rows of a given length in the direction of v (Salimans and Kingma, Weight Normalization).
//
//   w = g v / |v|

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>

func.func @weight_norm(%v: !mats, %g: !vecs) -> !mats {
  %squares = foreach.reduce add along j (%v = %v[i, j] as !real : !mats) -> !vecs {
    %v2 = arith.mulf %v, %v : !real
    foreach.yield %v2 : !real
  }
  %w = foreach.map (%v = %v[i, j] as !real : !mats, %g = %g[i], %squares = %squares[i] : !vecs) -> !mats {
    // w = g * v / sqrt(squares)
    %w_1 = arith.mulf %g, %v : !real
    %w_2 = math.sqrt %squares : !real
    %w = arith.divf %w_1, %w_2 : !real
    foreach.yield %w : !real
  }
  return %w : !mats
}

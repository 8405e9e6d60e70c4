// Weight normalization: rows of a given length in the direction of v (Salimans and Kingma, Weight Normalization).
//
//   w = g v / |v|

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

func.func @weight_norm(%v: !mats, %g: !vecs) -> !mats {
  %squares = foreach.reduce add along j (%v = %v[i, j] : !mats) -> !vecs {
    %v2 = arith.mulf %v, %v : f32
    foreach.yield %v2 : f32
  }
  %w = foreach.map (%v = %v[i, j] : !mats, %g = %g[i], %squares = %squares[i] : !vecs) -> !mats {
    // w = g * v / sqrt(squares)
    %w_1 = arith.mulf %g, %v : f32
    %w_2 = math.sqrt %squares : f32
    %w = arith.divf %w_1, %w_2 : f32
    foreach.yield %w : f32
  }
  return %w : !mats
}

// SM3: the largest sum of squares of each row and column bounds that of an element (Anil et al., Memory-Efficient
// Adaptive Optimization).
//
//   v = min(row, column) + g^2,  p = p - lr g / sqrt(v),  row = max over j of v,  column = max over i of v

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

func.func @sm3(
    %param: !mats {foreach.donate = 0 : i64},
    %grad: !mats,
    %row: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %column: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %eps: !num {foreach.default = 1.0e-12 : f64}) -> (!mats, !vecs, !vecs) {
  %p = foreach.map (
      %p = %param[i, j], %g = %grad[i, j] : !mats, %r = %row[i], %c = %column[j] : !vecs, %lr = %lr as f32,
      %eps = %eps as f32 : !num) -> !mats {
    // v = min(r, c) + g * g
    %v_1 = arith.minimumf %r, %c : f32
    %v_2 = arith.mulf %g, %g : f32
    %v = arith.addf %v_1, %v_2 : f32
    // p1 = p - lr * g / (sqrt(v) + eps)
    %p1_1 = arith.mulf %lr, %g : f32
    %p1_2 = math.sqrt %v : f32
    %p1_3 = arith.addf %p1_2, %eps : f32
    %p1_4 = arith.divf %p1_1, %p1_3 : f32
    %p1 = arith.subf %p, %p1_4 : f32
    foreach.yield %p1 : f32
  }
  %row1 = foreach.reduce max along j (%g = %grad[i, j] : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
    // v = min(r, c) + g * g
    %v_1 = arith.minimumf %r, %c : f32
    %v_2 = arith.mulf %g, %g : f32
    %v = arith.addf %v_1, %v_2 : f32
    foreach.yield %v : f32
  }
  %column1 = foreach.reduce max along i (%g = %grad[i, j] : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
    // v = min(r, c) + g * g
    %v_1 = arith.minimumf %r, %c : f32
    %v_2 = arith.mulf %g, %g : f32
    %v = arith.addf %v_1, %v_2 : f32
    foreach.yield %v : f32
  }
  return %p, %row1, %column1 : !mats, !vecs, !vecs
}

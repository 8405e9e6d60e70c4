// SM3: the largest sum of squares of each row and column bounds that of an element (Anil et al., Memory-Efficient
// Adaptive Optimization).
//
//   v = min(row, column) + g^2,  p = p - lr g / sqrt(v),  row = max over j of v,  column = max over i of v

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!num = tensor<f64>

func.func @sm3(
    %param: !mats {foreach.donate = 0 : i64},
    %grad: !mats,
    %row: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !real},
    %column: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %eps: !num {foreach.default = 1.0e-12 : f64}) -> (!mats, !vecs, !vecs) {
  %p = foreach.map (
      %p = %param[i, j] as !real, %g = %grad[i, j] as !real : !mats, %r = %row[i], %c = %column[j] : !vecs,
      %lr = %lr as !real, %eps = %eps as !real : !num) -> !mats {
    // v = min(r, c) + g * g
    %v_1 = arith.minimumf %r, %c : !real
    %v_2 = arith.mulf %g, %g : !real
    %v = arith.addf %v_1, %v_2 : !real
    // p1 = p - lr * g / (sqrt(v) + eps)
    %p1_1 = arith.mulf %lr, %g : !real
    %p1_2 = math.sqrt %v : !real
    %p1_3 = arith.addf %p1_2, %eps : !real
    %p1_4 = arith.divf %p1_1, %p1_3 : !real
    %p1 = arith.subf %p, %p1_4 : !real
    foreach.yield %p1 : !real
  }
  %row1 = foreach.reduce max along j (
      %g = %grad[i, j] as !real : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
    // v = min(r, c) + g * g
    %v_1 = arith.minimumf %r, %c : !real
    %v_2 = arith.mulf %g, %g : !real
    %v = arith.addf %v_1, %v_2 : !real
    foreach.yield %v : !real
  }
  %column1 = foreach.reduce max along i (
      %g = %grad[i, j] as !real : !mats, %r = %row[i], %c = %column[j] : !vecs) -> !vecs {
    // v = min(r, c) + g * g
    %v_1 = arith.minimumf %r, %c : !real
    %v_2 = arith.mulf %g, %g : !real
    %v = arith.addf %v_1, %v_2 : !real
    foreach.yield %v : !real
  }
  return %p, %row1, %column1 : !mats, !vecs, !vecs
}

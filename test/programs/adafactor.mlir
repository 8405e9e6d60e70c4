// Adafactor without momentum: the second moment of a matrix is a product of rows and columns (Shazeer and Stern,
// Adafactor: Adaptive Learning Rates with Sublinear Memory Cost).
//
//   row = b row + (1 - b) mean over j of (g^2 + eps),  column = b column + (1 - b) mean over i of the same
//   u = g / sqrt(row column / mean of row),            p = p - lr u / max(1, RMS(u))

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @adafactor(
    %param: !mats {foreach.donate = 0 : i64},
    %grad: !mats,
    %row: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %column: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-30 : f64}) -> (!mats, !vecs, !vecs) {
  %rows = foreach.reduce add along member (%r = %row : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %columns = foreach.reduce add along member (%c = %column : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %row_sum = foreach.reduce add along j (%g = %grad[i, j] : !mats, %eps = %eps as f32 : !num) -> !vecs {
    // g2 = g * g + eps
    %g2_1 = arith.mulf %g, %g : f32
    %g2 = arith.addf %g2_1, %eps : f32
    foreach.yield %g2 : f32
  }
  %column_sum = foreach.reduce add along i (%g = %grad[i, j] : !mats, %eps = %eps as f32 : !num) -> !vecs {
    // g2 = g * g + eps
    %g2_1 = arith.mulf %g, %g : f32
    %g2 = arith.addf %g2_1, %eps : f32
    foreach.yield %g2 : f32
  }
  %row1 = foreach.map (%r = %row, %s = %row_sum : !vecs, %n = %columns : !each, %b = %beta as f32 : !num) -> !vecs {
    // r1 = b * r + (1 - b) * s / n
    %r1_1 = arith.mulf %b, %r : f32
    %one = arith.constant 1.0 : f32
    %r1_2 = arith.subf %one, %b : f32
    %r1_3 = arith.mulf %r1_2, %s : f32
    %r1_4 = arith.divf %r1_3, %n : f32
    %r1 = arith.addf %r1_1, %r1_4 : f32
    foreach.yield %r1 : f32
  }
  %column1 = foreach.map (%c = %column, %s = %column_sum : !vecs, %n = %rows : !each, %b = %beta as f32 : !num) -> !vecs {
    // c1 = b * c + (1 - b) * s / n
    %c1_1 = arith.mulf %b, %c : f32
    %one = arith.constant 1.0 : f32
    %c1_2 = arith.subf %one, %b : f32
    %c1_3 = arith.mulf %c1_2, %s : f32
    %c1_4 = arith.divf %c1_3, %n : f32
    %c1 = arith.addf %c1_1, %c1_4 : f32
    foreach.yield %c1 : f32
  }
  %total = foreach.reduce add along member (%r = %row1 : !vecs) -> !each {
    foreach.yield %r : f32
  }
  %u2 = foreach.reduce add along member (
      %g = %grad[i, j] : !mats, %r = %row1[i], %c = %column1[j] : !vecs, %total = %total, %n = %rows : !each) -> !each {
    // u2 = g * g / (r * c / (total / n))
    %u2_1 = arith.mulf %g, %g : f32
    %u2_2 = arith.mulf %r, %c : f32
    %u2_3 = arith.divf %total, %n : f32
    %u2_4 = arith.divf %u2_2, %u2_3 : f32
    %u2 = arith.divf %u2_1, %u2_4 : f32
    foreach.yield %u2 : f32
  }
  %param1 = foreach.map (
      %p = %param[i, j], %g = %grad[i, j] : !mats, %r = %row1[i], %c = %column1[j] : !vecs, %total = %total, %u2 = %u2,
      %n = %rows, %m = %columns : !each, %lr = %lr as f32 : !num) -> !mats {
    // u = g / sqrt(r * c / (total / n))
    %u_1 = arith.mulf %r, %c : f32
    %u_2 = arith.divf %total, %n : f32
    %u_3 = arith.divf %u_1, %u_2 : f32
    %u_4 = math.sqrt %u_3 : f32
    %u = arith.divf %g, %u_4 : f32
    // p1 = p - lr * u / max(sqrt(u2 / (n * m)), 1)
    %p1_1 = arith.mulf %lr, %u : f32
    %p1_2 = arith.mulf %n, %m : f32
    %p1_3 = arith.divf %u2, %p1_2 : f32
    %p1_4 = math.sqrt %p1_3 : f32
    %one = arith.constant 1.0 : f32
    %p1_5 = arith.maximumf %p1_4, %one : f32
    %p1_6 = arith.divf %p1_1, %p1_5 : f32
    %p1 = arith.subf %p, %p1_6 : f32
    foreach.yield %p1 : f32
  }
  return %param1, %row1, %column1 : !mats, !vecs, !vecs
}

// Adafactor without momentum: the second moment of a matrix is a product of rows and columns (Shazeer and Stern,
// Adafactor: Adaptive Learning Rates with Sublinear Memory Cost).
//
//   row = b row + (1 - b) mean over j of (g^2 + eps),  column = b column + (1 - b) mean over i of the same
//   u = g / sqrt(row column / mean of row),            p = p - lr u / max(1, RMS(u))

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @adafactor(
    %param: !mats {foreach.donate = 0 : i64},
    %grad: !mats,
    %row: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !real},
    %column: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !real},
    %lr: !num {foreach.default = 1.0e-2 : f64},
    %beta: !num {foreach.default = 0.9 : f64},
    %eps: !num {foreach.default = 1.0e-30 : f64}) -> (!mats, !vecs, !vecs) {
  %row_mean = foreach.reduce mean along j (%g = %grad[i, j] as !real : !mats, %eps = %eps as !real : !num) -> !vecs {
    // g2 = g * g + eps
    %g2_1 = arith.mulf %g, %g : !real
    %g2 = arith.addf %g2_1, %eps : !real
    foreach.yield %g2 : !real
  }
  %column_mean = foreach.reduce mean along i (%g = %grad[i, j] as !real : !mats, %eps = %eps as !real : !num) -> !vecs {
    // g2 = g * g + eps
    %g2_1 = arith.mulf %g, %g : !real
    %g2 = arith.addf %g2_1, %eps : !real
    foreach.yield %g2 : !real
  }
  %row1 = foreach.map (%r = %row, %s = %row_mean : !vecs, %b = %beta as !real : !num) -> !vecs {
    // r1 = b * r + (1 - b) * s
    %r1_1 = arith.mulf %b, %r : !real
    %one = arith.constant 1.0 : !real
    %r1_2 = arith.subf %one, %b : !real
    %r1_3 = arith.mulf %r1_2, %s : !real
    %r1 = arith.addf %r1_1, %r1_3 : !real
    foreach.yield %r1 : !real
  }
  %column1 = foreach.map (%c = %column, %s = %column_mean : !vecs, %b = %beta as !real : !num) -> !vecs {
    // c1 = b * c + (1 - b) * s
    %c1_1 = arith.mulf %b, %c : !real
    %one = arith.constant 1.0 : !real
    %c1_2 = arith.subf %one, %b : !real
    %c1_3 = arith.mulf %c1_2, %s : !real
    %c1 = arith.addf %c1_1, %c1_3 : !real
    foreach.yield %c1 : !real
  }
  %mean = foreach.reduce mean along member (%r = %row1 : !vecs) -> !each {
    foreach.yield %r : !real
  }
  %u2 = foreach.reduce mean along member (
      %g = %grad[i, j] as !real : !mats, %r = %row1[i], %c = %column1[j] : !vecs, %mean = %mean : !each) -> !each {
    // u2 = g * g / (r * c / mean)
    %u2_1 = arith.mulf %g, %g : !real
    %u2_2 = arith.mulf %r, %c : !real
    %u2_3 = arith.divf %u2_2, %mean : !real
    %u2 = arith.divf %u2_1, %u2_3 : !real
    foreach.yield %u2 : !real
  }
  %param1 = foreach.map (
      %p = %param[i, j] as !real, %g = %grad[i, j] as !real : !mats, %r = %row1[i], %c = %column1[j] : !vecs,
      %mean = %mean, %u2 = %u2 : !each, %lr = %lr as !real : !num) -> !mats {
    // u = g / sqrt(r * c / mean)
    %u_1 = arith.mulf %r, %c : !real
    %u_2 = arith.divf %u_1, %mean : !real
    %u_3 = math.sqrt %u_2 : !real
    %u = arith.divf %g, %u_3 : !real
    // p1 = p - lr * u / max(sqrt(u2), 1)
    %p1_1 = arith.mulf %lr, %u : !real
    %p1_2 = math.sqrt %u2 : !real
    %one = arith.constant 1.0 : !real
    %p1_3 = arith.maximumf %p1_2, %one : !real
    %p1_4 = arith.divf %p1_1, %p1_3 : !real
    %p1 = arith.subf %p, %p1_4 : !real
    foreach.yield %p1 : !real
  }
  return %param1, %row1, %column1 : !mats, !vecs, !vecs
}

// Adafactor: the second moment of a matrix is the product of a vector of its rows and one of its columns
// (Shazeer and Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithm 4, with the
// hyperparameters of the paper). A vector is a matrix of one row, for which the product is exact.
//
//   keep  = 1 - t^-decay,  rate = max(eps2, RMS(p)) min(1e-2, 1 / sqrt(t))
//   row   = keep row + (1 - keep) (sum over j of g^2 + eps1),  col the same over i
//   v     = row col / (sum of row)
//   u     = g / sqrt(v) = g sqrt(sum of row) / sqrt(row) / sqrt(col)
//   p     = p - rate u / max(1, RMS(u) / clip)
//
// The roots are those of vectors, as in fairseq's Adafactor: the elements of a matrix need multiplications only.

!element = f32 // parameters and gradients
!real    = f32 // state and arithmetic
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!num  = tensor<f64>

func.func @adafactor(
    %param: !mats {foreach.donate = 0 : i64},
    %grad:  !mats,
    %row:   !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !real},
    %col:   !vecs {foreach.donate = 2 : i64, foreach.initial = 0.0 : !real},
    %step:  !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : !real},
    %decay: !num {foreach.default = 0.8 : f64},
    %clip:  !num {foreach.default = 1.0 : f64},
    %eps1:  !num {foreach.default = 1.0e-30 : f64},
    %eps2:  !num {foreach.default = 1.0e-3 : f64}) -> (!mats, !vecs, !vecs, !each) {

  %step1, %new, %most = foreach.map (%t = %step : !each, %decay = %decay as !real : !num) -> (!each, !each, !each) {
    %one = arith.constant 1.0 : !real
    %t1 = arith.addf %t, %one : !real
    %power = math.powf %t1, %decay : !real
    %new = arith.divf %one, %power : !real
    %root = math.sqrt %t1 : !real
    %inverse = arith.divf %one, %root : !real
    %cap = arith.constant 1.0e-2 : !real
    %most = arith.minimumf %inverse, %cap : !real
    foreach.yield %t1, %new, %most : !real, !real, !real
  }

  // The second moments of rows and columns.
  %square_row = foreach.reduce add along j (%g = %grad[i, j] as !real : !mats, %eps1 = %eps1 as !real : !num) -> !vecs {
    %square = arith.mulf %g, %g : !real
    %sum = arith.addf %square, %eps1 : !real
    foreach.yield %sum : !real
  }
  %square_col = foreach.reduce add along i (%g = %grad[i, j] as !real : !mats, %eps1 = %eps1 as !real : !num) -> !vecs {
    %square = arith.mulf %g, %g : !real
    %sum = arith.addf %square, %eps1 : !real
    foreach.yield %sum : !real
  }
  %row1 = foreach.map (%r = %row, %s = %square_row : !vecs, %new = %new : !each) -> !vecs {
    %gap = arith.subf %s, %r : !real
    %move = arith.mulf %new, %gap : !real
    %r1 = arith.addf %r, %move : !real
    foreach.yield %r1 : !real
  }
  %col1 = foreach.map (%c = %col, %s = %square_col : !vecs, %new = %new : !each) -> !vecs {
    %gap = arith.subf %s, %c : !real
    %move = arith.mulf %new, %gap : !real
    %c1 = arith.addf %c, %move : !real
    foreach.yield %c1 : !real
  }
  %total = foreach.reduce add along member (%r = %row1 : !vecs) -> !each {
    foreach.yield %r : !real
  }

  // u = g / sqrt(v) = g row_factor col_factor sqrt(total)
  %row_factor = foreach.map (%r = %row1 : !vecs) -> !vecs {
    %factor = math.rsqrt %r : !real
    foreach.yield %factor : !real
  }
  %col_factor = foreach.map (%c = %col1 : !vecs) -> !vecs {
    %factor = math.rsqrt %c : !real
    foreach.yield %factor : !real
  }
  %root_total = foreach.map (%total = %total : !each) -> !each {
    %root = math.sqrt %total : !real
    foreach.yield %root : !real
  }
  %mean_p = foreach.reduce mean along member (%p = %param as !real : !mats) -> !each {
    %square = arith.mulf %p, %p : !real
    foreach.yield %square : !real
  }
  %mean_u = foreach.reduce mean along member (
      %g = %grad[i, j] as !real : !mats, %r = %row_factor[i], %c = %col_factor[j] : !vecs, %root = %root_total : !each)
      -> !each {
    %factor = arith.mulf %r, %root : !real
    %scaled = arith.mulf %g, %factor : !real
    %u = arith.mulf %scaled, %c : !real
    %u2 = arith.mulf %u, %u : !real
    foreach.yield %u2 : !real
  }
  %rate = foreach.map (%mean_p = %mean_p, %mean_u = %mean_u, %most = %most : !each,
                       %clip = %clip as !real, %eps2 = %eps2 as !real : !num) -> !each {
    %rms_p = math.sqrt %mean_p : !real
    %scale = arith.maximumf %rms_p, %eps2 : !real
    %rms_u = math.sqrt %mean_u : !real
    %excess = arith.divf %rms_u, %clip : !real
    %one = arith.constant 1.0 : !real
    %shrink = arith.maximumf %excess, %one : !real
    %most_rate = arith.mulf %scale, %most : !real
    %rate = arith.divf %most_rate, %shrink : !real
    foreach.yield %rate : !real
  }

  %param1 = foreach.map (
      %p = %param[i, j] as !real, %g = %grad[i, j] as !real : !mats, %r = %row_factor[i], %c = %col_factor[j] : !vecs,
      %root = %root_total, %rate = %rate : !each) -> !mats {
    %factor = arith.mulf %r, %root : !real
    %scaled = arith.mulf %g, %factor : !real
    %u = arith.mulf %scaled, %c : !real
    %change = arith.mulf %rate, %u : !real
    %p1 = arith.subf %p, %change : !real
    foreach.yield %p1 : !real
  }
  return %param1, %row1, %col1, %step1 : !mats, !vecs, !vecs, !each
}

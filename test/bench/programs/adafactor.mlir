// Adafactor: the second moment of a matrix is the product of a vector of its rows and one of its columns
// (Shazeer and Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithm 4, with the
// hyperparameters of the paper). A vector is a matrix of one row, for which the product is exact.
//
//   keep  = 1 - t^-decay,  rate = max(eps2, RMS(p)) min(1e-2, 1 / sqrt(t))
//   row   = keep row + (1 - keep) (sum over j of g^2 + eps1),  col the same over i
//   v     = row col / (sum of row)
//   u     = g / sqrt(v)
//   p     = p - rate u / max(1, RMS(u) / clip)

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

  // RMS(p), RMS(u), and the numbers of rows and columns.
  %rows = foreach.reduce add along member (%r = %row : !vecs) -> !each {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %cols = foreach.reduce add along member (%c = %col : !vecs) -> !each {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %square_p = foreach.reduce add along member (%p = %param as !real : !mats) -> !each {
    %square = arith.mulf %p, %p : !real
    foreach.yield %square : !real
  }
  // First row / total, because the product of two small numbers may underflow.
  %square_u = foreach.reduce add along member (
      %g = %grad[i, j] as !real : !mats, %r = %row1[i], %c = %col1[j] : !vecs, %total = %total : !each) -> !each {
    %share = arith.divf %r, %total : !real
    %v = arith.mulf %share, %c : !real
    %square = arith.mulf %g, %g : !real
    %u2 = arith.divf %square, %v : !real
    foreach.yield %u2 : !real
  }
  %rate = foreach.map (%p2 = %square_p, %u2 = %square_u, %n = %rows, %m = %cols, %most = %most : !each,
                       %clip = %clip as !real, %eps2 = %eps2 as !real : !num) -> !each {
    %count = arith.mulf %n, %m : !real
    %mean_p = arith.divf %p2, %count : !real
    %rms_p = math.sqrt %mean_p : !real
    %scale = arith.maximumf %rms_p, %eps2 : !real
    %mean_u = arith.divf %u2, %count : !real
    %rms_u = math.sqrt %mean_u : !real
    %excess = arith.divf %rms_u, %clip : !real
    %one = arith.constant 1.0 : !real
    %shrink = arith.maximumf %excess, %one : !real
    %most_rate = arith.mulf %scale, %most : !real
    %rate = arith.divf %most_rate, %shrink : !real
    foreach.yield %rate : !real
  }

  %param1 = foreach.map (
      %p = %param[i, j] as !real, %g = %grad[i, j] as !real : !mats, %r = %row1[i], %c = %col1[j] : !vecs,
      %total = %total, %rate = %rate : !each) -> !mats {
    %share = arith.divf %r, %total : !real
    %v = arith.mulf %share, %c : !real
    %deviation = math.sqrt %v : !real
    %u = arith.divf %g, %deviation : !real
    %change = arith.mulf %rate, %u : !real
    %p1 = arith.subf %p, %change : !real
    foreach.yield %p1 : !real
  }
  return %param1, %row1, %col1, %step1 : !mats, !vecs, !vecs, !each
}

// Adafactor as PyTorch computes it (torch.optim.Adafactor), with one map for each line. Vectors are matrices of one row.
//
//   row   = lerp(row, mean over j of g^2, weight),  col the same over i
//   v     = row col / max(mean of row, eps1)
//   u     = g / sqrt(max(v, eps1^2))
//   rate  = max(eps2, RMS(p)) min(lr, 1 / sqrt(t))
//   p     = p - rate u / max(1, RMS(u) / clip)

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num  = tensor<f64>

func.func @adafactor(
    %param: !mats {foreach.donate = 0 : i64},
    %grad:  !mats,
    %row:   !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %col:   !list {foreach.donate = 2 : i64, foreach.initial = 0.0 : f32},
    %step:  !each {foreach.donate = 3 : i64, foreach.initial = 0.0 : f32},
    %lr:    !num {foreach.default = 1.0e-2 : f64},
    %decay: !num {foreach.default = -0.8 : f64},
    %clip:  !num {foreach.default = 1.0 : f64},
    %eps1:  !num {foreach.default = 1.0e-7 : f64},
    %eps2:  !num {foreach.default = 1.0e-3 : f64}) -> (!mats, !list, !list, !each) {

  %step1, %weight, %most = foreach.map (%t = %step : !each, %lr = %lr as f32, %decay = %decay as f32 : !num) -> (!each, !each, !each) {
    %one = arith.constant 1.0 : f32
    %t1 = arith.addf %t, %one : f32
    %weight = math.powf %t1, %decay : f32
    %root = math.sqrt %t1 : f32
    %inverse = arith.divf %one, %root : f32
    %most = arith.minimumf %lr, %inverse : f32
    foreach.yield %t1, %weight, %most : f32, f32, f32
  }
  %g2 = foreach.map (%g = %grad : !mats) -> !mats {
    %g2 = arith.mulf %g, %g : f32
    foreach.yield %g2 : f32
  }
  %row_sum = foreach.reduce add along j (%g2 = %g2 : !mats) -> !list {
    foreach.yield %g2 : f32
  }
  %columns = foreach.reduce add along j (%g2 = %g2 : !mats) -> !list {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %col_sum = foreach.reduce add along i (%g2 = %g2 : !mats) -> !list {
    foreach.yield %g2 : f32
  }
  %rows = foreach.reduce add along i (%g2 = %g2 : !mats) -> !list {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %row1 = foreach.map (%r = %row, %s = %row_sum, %n = %columns : !list, %w = %weight : !each) -> !list {
    %mean = arith.divf %s, %n : f32
    %gap = arith.subf %mean, %r : f32
    %move = arith.mulf %w, %gap : f32
    %r1 = arith.addf %r, %move : f32
    foreach.yield %r1 : f32
  }
  %col1 = foreach.map (%c = %col, %s = %col_sum, %n = %rows : !list, %w = %weight : !each) -> !list {
    %mean = arith.divf %s, %n : f32
    %gap = arith.subf %mean, %c : f32
    %move = arith.mulf %w, %gap : f32
    %c1 = arith.addf %c, %move : f32
    foreach.yield %c1 : f32
  }
  %row_total = foreach.reduce add along member (%r = %row1 : !list) -> !each {
    foreach.yield %r : f32
  }
  %row_count = foreach.reduce add along member (%r = %row1 : !list) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %v = foreach.map (%g = %grad[i, j] : !mats, %r = %row1[i], %c = %col1[j] : !list, %total = %row_total, %n = %row_count : !each,
                    %eps1 = %eps1 as f32 : !num) -> !mats {
    %mean = arith.divf %total, %n : f32
    %least = arith.maximumf %mean, %eps1 : f32
    %product = arith.mulf %r, %c : f32
    %v = arith.divf %product, %least : f32
    foreach.yield %v : f32
  }
  %u = foreach.map (%g = %grad, %v = %v : !mats, %eps1 = %eps1 as f32 : !num) -> !mats {
    %least = arith.mulf %eps1, %eps1 : f32
    %bounded = arith.maximumf %v, %least : f32
    %deviation = math.sqrt %bounded : f32
    %u = arith.divf %g, %deviation : f32
    foreach.yield %u : f32
  }
  %u2 = foreach.reduce add along member (%u = %u : !mats) -> !each {
    %square = arith.mulf %u, %u : f32
    foreach.yield %square : f32
  }
  %p2 = foreach.reduce add along member (%p = %param : !mats) -> !each {
    %square = arith.mulf %p, %p : f32
    foreach.yield %square : f32
  }
  %count = foreach.reduce add along member (%u = %u : !mats) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %rate = foreach.map (%p2 = %p2, %u2 = %u2, %n = %count, %most = %most : !each,
                       %clip = %clip as f32, %eps2 = %eps2 as f32 : !num) -> !each {
    %mean_p = arith.divf %p2, %n : f32
    %rms_p = math.sqrt %mean_p : f32
    %scale = arith.maximumf %rms_p, %eps2 : f32
    %mean_u = arith.divf %u2, %n : f32
    %rms_u = math.sqrt %mean_u : f32
    %excess = arith.divf %rms_u, %clip : f32
    %one = arith.constant 1.0 : f32
    %shrink = arith.maximumf %excess, %one : f32
    %most_rate = arith.mulf %scale, %most : f32
    %rate = arith.divf %most_rate, %shrink : f32
    foreach.yield %rate : f32
  }
  %param1 = foreach.map (%p = %param, %u = %u : !mats, %rate = %rate : !each) -> !mats {
    %change = arith.mulf %rate, %u : f32
    %p1 = arith.subf %p, %change : f32
    foreach.yield %p1 : f32
  }
  return %param1, %row1, %col1, %step1 : !mats, !list, !list, !each
}

// One step of gradient descent for logistic regression: each member is a data set with its weights.
//
//   z = sum over j of X w,  r = 1 / (1 + exp(-z)) - y,  w = w - lr (sum over i of X r / n + l2 w)

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @logistic_regression(
    %X: !mats,
    %label: !vecs,
    %column_weight: !vecs {foreach.donate = 0 : i64},
    %lr: !num {foreach.default = 0.5 : f64},
    %l2: !num {foreach.default = 1.0e-2 : f64}) -> (!vecs, !each) {
  %z = foreach.reduce add along j (%x = %X[i, j] : !mats, %w = %column_weight[j] : !vecs) -> !vecs {
    %xw = arith.mulf %x, %w : f32
    foreach.yield %xw : f32
  }
  %residual = foreach.map (%z = %z, %y = %label : !vecs) -> !vecs {
    // r = 1 / (1 + exp(-z)) - y
    %one = arith.constant 1.0 : f32
    %r_1 = arith.negf %z : f32
    %r_2 = math.exp %r_1 : f32
    %r_3 = arith.addf %one, %r_2 : f32
    %r_4 = arith.divf %one, %r_3 : f32
    %r = arith.subf %r_4, %y : f32
    foreach.yield %r : f32
  }
  %rows = foreach.reduce add along member (%z = %z : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %losses = foreach.reduce add along member (%z = %z, %y = %label : !vecs) -> !each {
    // loss = max(z, 0.0) - z * y + log1p(exp(-abs(z)))
    %zero = arith.constant 0.0 : f32
    %loss_1 = arith.maximumf %z, %zero : f32
    %loss_2 = arith.mulf %z, %y : f32
    %loss_3 = arith.subf %loss_1, %loss_2 : f32
    %loss_4 = math.absf %z : f32
    %loss_5 = arith.negf %loss_4 : f32
    %loss_6 = math.exp %loss_5 : f32
    %loss_7 = math.log1p %loss_6 : f32
    %loss = arith.addf %loss_3, %loss_7 : f32
    foreach.yield %loss : f32
  }
  %gradient = foreach.reduce add along i (%x = %X[i, j] : !mats, %r = %residual[i] : !vecs) -> !vecs {
    %xr = arith.mulf %x, %r : f32
    foreach.yield %xr : f32
  }
  %w = foreach.map (
      %w = %column_weight, %g = %gradient : !vecs, %n = %rows : !each, %lr = %lr as f32, %l2 = %l2 as f32 : !num)
      -> !vecs {
    // w1 = w - lr * (g / n + l2 * w)
    %w1_1 = arith.divf %g, %n : f32
    %w1_2 = arith.mulf %l2, %w : f32
    %w1_3 = arith.addf %w1_1, %w1_2 : f32
    %w1_4 = arith.mulf %lr, %w1_3 : f32
    %w1 = arith.subf %w, %w1_4 : f32
    foreach.yield %w1 : f32
  }
  %loss = foreach.map (%sum = %losses, %n = %rows : !each) -> !each {
    %loss = arith.divf %sum, %n : f32
    foreach.yield %loss : f32
  }
  return %w, %loss : !vecs, !each
}

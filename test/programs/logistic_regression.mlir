// One step of gradient descent for logistic regression: each member is a data set with its weights.
//
//   z = sum over j of X w,  r = 1 / (1 + exp(-z)) - y,  w = w - lr (sum over i of X r / n + l2 w)

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @logistic_regression(
    %X: !mats,
    %label: !vecs,
    %column_weight: !vecs {foreach.donate = 0 : i64},
    %lr: !num {foreach.default = 0.5 : f64},
    %l2: !num {foreach.default = 1.0e-2 : f64}) -> (!vecs, !each) {
  %z = foreach.reduce add along j (%x = %X[i, j] as !real : !mats, %w = %column_weight[j] : !vecs) -> !vecs {
    %xw = arith.mulf %x, %w : !real
    foreach.yield %xw : !real
  }
  %residual = foreach.map (%z = %z, %y = %label : !vecs) -> !vecs {
    // r = 1 / (1 + exp(-z)) - y
    %one = arith.constant 1.0 : !real
    %r_1 = arith.negf %z : !real
    %r_2 = math.exp %r_1 : !real
    %r_3 = arith.addf %one, %r_2 : !real
    %r_4 = arith.divf %one, %r_3 : !real
    %r = arith.subf %r_4, %y : !real
    foreach.yield %r : !real
  }
  %loss = foreach.reduce mean along member (%z = %z, %y = %label : !vecs) -> !each {
    // loss = max(z, 0.0) - z * y + log1p(exp(-abs(z)))
    %zero = arith.constant 0.0 : !real
    %loss_1 = arith.maximumf %z, %zero : !real
    %loss_2 = arith.mulf %z, %y : !real
    %loss_3 = arith.subf %loss_1, %loss_2 : !real
    %loss_4 = math.absf %z : !real
    %loss_5 = arith.negf %loss_4 : !real
    %loss_6 = math.exp %loss_5 : !real
    %loss_7 = math.log1p %loss_6 : !real
    %loss = arith.addf %loss_3, %loss_7 : !real
    foreach.yield %loss : !real
  }
  %gradient = foreach.reduce mean along i (%x = %X[i, j] as !real : !mats, %r = %residual[i] : !vecs) -> !vecs {
    %xr = arith.mulf %x, %r : !real
    foreach.yield %xr : !real
  }
  %w = foreach.map (
      %w = %column_weight, %g = %gradient : !vecs, %lr = %lr as !real, %l2 = %l2 as !real : !num) -> !vecs {
    // w1 = w - lr * (g + l2 * w)
    %w1_1 = arith.mulf %l2, %w : !real
    %w1_2 = arith.addf %g, %w1_1 : !real
    %w1_3 = arith.mulf %lr, %w1_2 : !real
    %w1 = arith.subf %w, %w1_3 : !real
    foreach.yield %w1 : !real
  }
  return %w, %loss : !vecs, !each
}

// Layer normalization of every row (Ba et al., Layer Normalization).
//
//   y = (x - mean) / sqrt(var + eps) w + b, with the mean and the variance of the row

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

func.func @layer_norm(
    %x: !mats,
    %weight: !vecs,
    %bias: !vecs,
    %eps: !num {foreach.default = 1.0e-5 : f64}) -> !mats {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %count = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %squares = foreach.reduce add along j (%x = %x[i, j] : !mats, %sum = %sum[i], %n = %count[i] : !vecs) -> !vecs {
    // d = x - sum / n
    %d_1 = arith.divf %sum, %n : f32
    %d = arith.subf %x, %d_1 : f32
    %d2 = arith.mulf %d, %d : f32
    foreach.yield %d2 : f32
  }
  %y = foreach.map (
      %x = %x[i, j] : !mats, %sum = %sum[i], %squares = %squares[i], %n = %count[i], %w = %weight[j], %b = %bias[j]
      : !vecs, %eps = %eps as f32 : !num) -> !mats {
    // y = (x - sum / n) / sqrt(squares / n + eps) * w + b
    %y_1 = arith.divf %sum, %n : f32
    %y_2 = arith.subf %x, %y_1 : f32
    %y_3 = arith.divf %squares, %n : f32
    %y_4 = arith.addf %y_3, %eps : f32
    %y_5 = math.sqrt %y_4 : f32
    %y_6 = arith.divf %y_2, %y_5 : f32
    %y_7 = arith.mulf %y_6, %w : f32
    %y = arith.addf %y_7, %b : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}

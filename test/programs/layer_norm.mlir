// Layer normalization of every row (Ba et al., Layer Normalization).
//
//   y = (x - mean) / sqrt(var + eps) w + b, with the mean and the variance of the row

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!num = tensor<f64>

func.func @layer_norm(
    %x: !mats,
    %weight: !vecs,
    %bias: !vecs,
    %eps: !num {foreach.default = 1.0e-5 : f64}) -> !mats {
  %sum = foreach.reduce add along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %count = foreach.reduce add along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %squares = foreach.reduce add along j (
      %x = %x[i, j] as !real : !mats, %sum = %sum[i], %n = %count[i] : !vecs) -> !vecs {
    // d = x - sum / n
    %d_1 = arith.divf %sum, %n : !real
    %d = arith.subf %x, %d_1 : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %y = foreach.map (
      %x = %x[i, j] as !real : !mats, %sum = %sum[i], %squares = %squares[i], %n = %count[i], %w = %weight[j],
      %b = %bias[j] : !vecs, %eps = %eps as !real : !num) -> !mats {
    // y = (x - sum / n) / sqrt(squares / n + eps) * w + b
    %y_1 = arith.divf %sum, %n : !real
    %y_2 = arith.subf %x, %y_1 : !real
    %y_3 = arith.divf %squares, %n : !real
    %y_4 = arith.addf %y_3, %eps : !real
    %y_5 = math.sqrt %y_4 : !real
    %y_6 = arith.divf %y_2, %y_5 : !real
    %y_7 = arith.mulf %y_6, %w : !real
    %y = arith.addf %y_7, %b : !real
    foreach.yield %y : !real
  }
  return %y : !mats
}

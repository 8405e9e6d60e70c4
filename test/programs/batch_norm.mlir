// Batch normalization of columns, with running statistics (Ioffe and Szegedy, Batch Normalization).

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

func.func @batch_norm(
    %x: !mats,
    %column_scale: !vecs,
    %column_shift: !vecs,
    %column_mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %column_var: !vecs {foreach.donate = 2 : i64, foreach.initial = 1.0 : f32},
    %momentum: !num {foreach.default = 0.1 : f64},
    %eps: !num {foreach.default = 1.0e-5 : f64}) -> (!mats, !vecs, !vecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %count = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !vecs {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %squares = foreach.reduce add along i (%x = %x[i, j] : !mats, %sum = %sum[j], %n = %count[j] : !vecs) -> !vecs {
    // d = x - sum / n
    %d_1 = arith.divf %sum, %n : f32
    %d = arith.subf %x, %d_1 : f32
    %d2 = arith.mulf %d, %d : f32
    foreach.yield %d2 : f32
  }
  %mean1, %var1 = foreach.map (
      %sum = %sum, %squares = %squares, %n = %count, %mean = %column_mean, %var = %column_var : !vecs,
      %momentum = %momentum as f32 : !num) -> (!vecs, !vecs) {
    // mean1 = mean + momentum * (sum / n - mean)
    %mean1_1 = arith.divf %sum, %n : f32
    %mean1_2 = arith.subf %mean1_1, %mean : f32
    %mean1_3 = arith.mulf %momentum, %mean1_2 : f32
    %mean1 = arith.addf %mean, %mean1_3 : f32
    // var1 = var + momentum * (squares / max(n - 1, 1) - var)
    %one = arith.constant 1.0 : f32
    %var1_1 = arith.subf %n, %one : f32
    %var1_2 = arith.maximumf %var1_1, %one : f32
    %var1_3 = arith.divf %squares, %var1_2 : f32
    %var1_4 = arith.subf %var1_3, %var : f32
    %var1_5 = arith.mulf %momentum, %var1_4 : f32
    %var1 = arith.addf %var, %var1_5 : f32
    foreach.yield %mean1, %var1 : f32, f32
  }
  %y = foreach.map (
      %x = %x[i, j] : !mats, %sum = %sum[j], %squares = %squares[j], %n = %count[j], %w = %column_scale[j],
      %b = %column_shift[j] : !vecs, %eps = %eps as f32 : !num) -> !mats {
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
  return %y, %mean1, %var1 : !mats, !vecs, !vecs
}

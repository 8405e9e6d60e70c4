// Batch normalization of columns, with running statistics (Ioffe and Szegedy, Batch Normalization).

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!num = tensor<f64>

func.func @batch_norm(
    %x: !mats,
    %column_scale: !vecs,
    %column_shift: !vecs,
    %column_mean: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !real},
    %column_var: !vecs {foreach.donate = 2 : i64, foreach.initial = 1.0 : !real},
    %momentum: !num {foreach.default = 0.1 : f64},
    %eps: !num {foreach.default = 1.0e-5 : f64}) -> (!mats, !vecs, !vecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %count = foreach.reduce add along i (%x = %x[i, j] as !real : !mats) -> !vecs {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %squares = foreach.reduce add along i (
      %x = %x[i, j] as !real : !mats, %sum = %sum[j], %n = %count[j] : !vecs) -> !vecs {
    // d = x - sum / n
    %d_1 = arith.divf %sum, %n : !real
    %d = arith.subf %x, %d_1 : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %mean1, %var1 = foreach.map (
      %sum = %sum, %squares = %squares, %n = %count, %mean = %column_mean, %var = %column_var : !vecs,
      %momentum = %momentum as !real : !num) -> (!vecs, !vecs) {
    // mean1 = mean + momentum * (sum / n - mean)
    %mean1_1 = arith.divf %sum, %n : !real
    %mean1_2 = arith.subf %mean1_1, %mean : !real
    %mean1_3 = arith.mulf %momentum, %mean1_2 : !real
    %mean1 = arith.addf %mean, %mean1_3 : !real
    // var1 = var + momentum * (squares / max(n - 1, 1) - var)
    %one = arith.constant 1.0 : !real
    %var1_1 = arith.subf %n, %one : !real
    %var1_2 = arith.maximumf %var1_1, %one : !real
    %var1_3 = arith.divf %squares, %var1_2 : !real
    %var1_4 = arith.subf %var1_3, %var : !real
    %var1_5 = arith.mulf %momentum, %var1_4 : !real
    %var1 = arith.addf %var, %var1_5 : !real
    foreach.yield %mean1, %var1 : !real, !real
  }
  %y = foreach.map (
      %x = %x[i, j] as !real : !mats, %sum = %sum[j], %squares = %squares[j], %n = %count[j], %w = %column_scale[j],
      %b = %column_shift[j] : !vecs, %eps = %eps as !real : !num) -> !mats {
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
  return %y, %mean1, %var1 : !mats, !vecs, !vecs
}

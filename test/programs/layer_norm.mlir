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
  %mean = foreach.reduce mean along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %var = foreach.reduce mean along j (%x = %x[i, j] as !real : !mats, %mean = %mean[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %y = foreach.map (
      %x = %x[i, j] as !real : !mats, %mean = %mean[i], %var = %var[i], %w = %weight[j], %b = %bias[j] : !vecs,
      %eps = %eps as !real : !num) -> !mats {
    // y = (x - mean) / sqrt(var + eps) * w + b
    %y_1 = arith.subf %x, %mean : !real
    %y_2 = arith.addf %var, %eps : !real
    %y_3 = math.sqrt %y_2 : !real
    %y_4 = arith.divf %y_1, %y_3 : !real
    %y_5 = arith.mulf %y_4, %w : !real
    %y = arith.addf %y_5, %b : !real
    foreach.yield %y : !real
  }
  return %y : !mats
}

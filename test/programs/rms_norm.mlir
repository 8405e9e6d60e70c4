// Every row over its root mean square (Zhang and Sennrich, Root Mean Square Layer Normalization).

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!num = tensor<f64>

func.func @rms_norm(
    %x: !mats,
    %weight: !vecs,
    %eps: !num {foreach.default = 1.0e-6 : f64}) -> !mats {
  %mean_square = foreach.reduce mean along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    %x2 = arith.mulf %x, %x : !real
    foreach.yield %x2 : !real
  }
  %y = foreach.map (
      %x = %x[i, j] as !real : !mats, %ms = %mean_square[i], %w = %weight[j] : !vecs, %eps = %eps as !real : !num)
      -> !mats {
    // y = x * rsqrt(ms + eps) * w
    %y_1 = arith.addf %ms, %eps : !real
    %y_2 = math.rsqrt %y_1 : !real
    %y_3 = arith.mulf %x, %y_2 : !real
    %y = arith.mulf %y_3, %w : !real
    foreach.yield %y : !real
  }
  return %y : !mats
}

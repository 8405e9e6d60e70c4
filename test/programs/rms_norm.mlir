// Every row over its root mean square (Zhang and Sennrich, Root Mean Square Layer Normalization).

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

func.func @rms_norm(
    %x: !mats,
    %weight: !vecs,
    %eps: !num {foreach.default = 1.0e-6 : f64}) -> !mats {
  %squares = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    %x2 = arith.mulf %x, %x : f32
    foreach.yield %x2 : f32
  }
  %count = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %y = foreach.map (
      %x = %x[i, j] : !mats, %squares = %squares[i], %n = %count[i], %w = %weight[j] : !vecs, %eps = %eps as f32 : !num)
      -> !mats {
    // y = x * rsqrt(squares / n + eps) * w
    %y_1 = arith.divf %squares, %n : f32
    %y_2 = arith.addf %y_1, %eps : f32
    %y_3 = math.rsqrt %y_2 : f32
    %y_4 = arith.mulf %x, %y_3 : f32
    %y = arith.mulf %y_4, %w : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}

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
  %squares = foreach.reduce add along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    %x2 = arith.mulf %x, %x : !real
    foreach.yield %x2 : !real
  }
  %count = foreach.reduce add along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %y = foreach.map (
      %x = %x[i, j] as !real : !mats, %squares = %squares[i], %n = %count[i], %w = %weight[j] : !vecs,
      %eps = %eps as !real : !num) -> !mats {
    // y = x * rsqrt(squares / n + eps) * w
    %y_1 = arith.divf %squares, %n : !real
    %y_2 = arith.addf %y_1, %eps : !real
    %y_3 = math.rsqrt %y_2 : !real
    %y_4 = arith.mulf %x, %y_3 : !real
    %y = arith.mulf %y_4, %w : !real
    foreach.yield %y : !real
  }
  return %y : !mats
}

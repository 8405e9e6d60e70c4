// The mean, the variance, the skewness and the excess kurtosis of every column.

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

func.func @column_moments(%x: !mats) -> (!vecs, !vecs, !vecs, !vecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %count = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !vecs {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %mean = foreach.map (%sum = %sum, %n = %count : !vecs) -> !vecs {
    %mean = arith.divf %sum, %n : f32
    foreach.yield %mean : f32
  }
  %sum2 = foreach.reduce add along i (%x = %x[i, j] : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    foreach.yield %d2 : f32
  }
  %sum3 = foreach.reduce add along i (%x = %x[i, j] : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : f32
    // d3 = d * d * d
    %d3_1 = arith.mulf %d, %d : f32
    %d3 = arith.mulf %d3_1, %d : f32
    foreach.yield %d3 : f32
  }
  %sum4 = foreach.reduce add along i (%x = %x[i, j] : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    %d4 = arith.mulf %d2, %d2 : f32
    foreach.yield %d4 : f32
  }
  %var, %skewness, %kurtosis = foreach.map (
      %sum2 = %sum2, %sum3 = %sum3, %sum4 = %sum4, %n = %count : !vecs) -> (!vecs, !vecs, !vecs) {
    %var = arith.divf %sum2, %n : f32
    // skewness = sum3 / n / (var * sqrt(var))
    %skewness_1 = arith.divf %sum3, %n : f32
    %skewness_2 = math.sqrt %var : f32
    %skewness_3 = arith.mulf %var, %skewness_2 : f32
    %skewness = arith.divf %skewness_1, %skewness_3 : f32
    // kurtosis = sum4 / n / (var * var) - 3
    %kurtosis_1 = arith.divf %sum4, %n : f32
    %kurtosis_2 = arith.mulf %var, %var : f32
    %kurtosis_3 = arith.divf %kurtosis_1, %kurtosis_2 : f32
    %three = arith.constant 3.0 : f32
    %kurtosis = arith.subf %kurtosis_3, %three : f32
    foreach.yield %var, %skewness, %kurtosis : f32, f32, f32
  }
  return %mean, %var, %skewness, %kurtosis : !vecs, !vecs, !vecs, !vecs
}

// The mean, the variance, the skewness and the excess kurtosis of every column.

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>

func.func @column_moments(%x: !mats) -> (!vecs, !vecs, !vecs, !vecs) {
  %sum = foreach.reduce add along i (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %count = foreach.reduce add along i (%x = %x[i, j] as !real : !mats) -> !vecs {
    %one = arith.constant 1.0 : !real
    foreach.yield %one : !real
  }
  %mean = foreach.map (%sum = %sum, %n = %count : !vecs) -> !vecs {
    %mean = arith.divf %sum, %n : !real
    foreach.yield %mean : !real
  }
  %sum2 = foreach.reduce add along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %sum3 = foreach.reduce add along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    // d3 = d * d * d
    %d3_1 = arith.mulf %d, %d : !real
    %d3 = arith.mulf %d3_1, %d : !real
    foreach.yield %d3 : !real
  }
  %sum4 = foreach.reduce add along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    %d4 = arith.mulf %d2, %d2 : !real
    foreach.yield %d4 : !real
  }
  %var, %skewness, %kurtosis = foreach.map (
      %sum2 = %sum2, %sum3 = %sum3, %sum4 = %sum4, %n = %count : !vecs) -> (!vecs, !vecs, !vecs) {
    %var = arith.divf %sum2, %n : !real
    // skewness = sum3 / n / (var * sqrt(var))
    %skewness_1 = arith.divf %sum3, %n : !real
    %skewness_2 = math.sqrt %var : !real
    %skewness_3 = arith.mulf %var, %skewness_2 : !real
    %skewness = arith.divf %skewness_1, %skewness_3 : !real
    // kurtosis = sum4 / n / (var * var) - 3
    %kurtosis_1 = arith.divf %sum4, %n : !real
    %kurtosis_2 = arith.mulf %var, %var : !real
    %kurtosis_3 = arith.divf %kurtosis_1, %kurtosis_2 : !real
    %three = arith.constant 3.0 : !real
    %kurtosis = arith.subf %kurtosis_3, %three : !real
    foreach.yield %var, %skewness, %kurtosis : !real, !real, !real
  }
  return %mean, %var, %skewness, %kurtosis : !vecs, !vecs, !vecs, !vecs
}

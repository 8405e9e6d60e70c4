// The mean, the variance, the skewness and the excess kurtosis of every column.

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>

func.func @column_moments(%x: !mats) -> (!vecs, !vecs, !vecs, !vecs) {
  %mean = foreach.reduce mean along i (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %var = foreach.reduce mean along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %third = foreach.reduce mean along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    // d3 = d * d * d
    %d3_1 = arith.mulf %d, %d : !real
    %d3 = arith.mulf %d3_1, %d : !real
    foreach.yield %d3 : !real
  }
  %fourth = foreach.reduce mean along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    %d4 = arith.mulf %d2, %d2 : !real
    foreach.yield %d4 : !real
  }
  %skewness, %kurtosis = foreach.map (%var = %var, %third = %third, %fourth = %fourth : !vecs) -> (!vecs, !vecs) {
    // skewness = third / (var * sqrt(var))
    %skewness_1 = math.sqrt %var : !real
    %skewness_2 = arith.mulf %var, %skewness_1 : !real
    %skewness = arith.divf %third, %skewness_2 : !real
    // kurtosis = fourth / (var * var) - 3
    %kurtosis_1 = arith.mulf %var, %var : !real
    %kurtosis_2 = arith.divf %fourth, %kurtosis_1 : !real
    %three = arith.constant 3.0 : !real
    %kurtosis = arith.subf %kurtosis_2, %three : !real
    foreach.yield %skewness, %kurtosis : !real, !real
  }
  return %mean, %var, %skewness, %kurtosis : !vecs, !vecs, !vecs, !vecs
}

// A robust mean of every column: values that are more than k deviations from the mean count as if they were there.
//
//   y = mean over i of clip(x, mean - k deviation, mean + k deviation)

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!num = tensor<f64>

func.func @winsorized_mean(
    %x: !mats,
    %k: !num {foreach.default = 1.5 : f64}) -> (!vecs, !vecs) {
  %mean = foreach.reduce mean along i (%x = %x[i, j] as !real : !mats) -> !vecs {
    foreach.yield %x : !real
  }
  %var = foreach.reduce mean along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %reach = foreach.map (%var = %var : !vecs, %k = %k as !real : !num) -> !vecs {
    // reach = k * sqrt(var)
    %reach_1 = math.sqrt %var : !real
    %reach = arith.mulf %k, %reach_1 : !real
    foreach.yield %reach : !real
  }
  %robust = foreach.reduce mean along i (
      %x = %x[i, j] as !real : !mats, %mean = %mean[j], %reach = %reach[j] : !vecs) -> !vecs {
    // y = min(max(x, mean - reach), mean + reach)
    %y_1 = arith.subf %mean, %reach : !real
    %y_2 = arith.maximumf %x, %y_1 : !real
    %y_3 = arith.addf %mean, %reach : !real
    %y = arith.minimumf %y_2, %y_3 : !real
    foreach.yield %y : !real
  }
  return %mean, %robust : !vecs, !vecs
}

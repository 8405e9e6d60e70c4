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
  %squares = foreach.reduce add along i (%x = %x[i, j] as !real : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : !real
    %d2 = arith.mulf %d, %d : !real
    foreach.yield %d2 : !real
  }
  %reach = foreach.map (%squares = %squares, %n = %count : !vecs, %k = %k as !real : !num) -> !vecs {
    // reach = k * sqrt(squares / n)
    %reach_1 = arith.divf %squares, %n : !real
    %reach_2 = math.sqrt %reach_1 : !real
    %reach = arith.mulf %k, %reach_2 : !real
    foreach.yield %reach : !real
  }
  %kept = foreach.reduce add along i (
      %x = %x[i, j] as !real : !mats, %mean = %mean[j], %reach = %reach[j] : !vecs) -> !vecs {
    // y = min(max(x, mean - reach), mean + reach)
    %y_1 = arith.subf %mean, %reach : !real
    %y_2 = arith.maximumf %x, %y_1 : !real
    %y_3 = arith.addf %mean, %reach : !real
    %y = arith.minimumf %y_2, %y_3 : !real
    foreach.yield %y : !real
  }
  %robust = foreach.map (%kept = %kept, %n = %count : !vecs) -> !vecs {
    %robust = arith.divf %kept, %n : !real
    foreach.yield %robust : !real
  }
  return %mean, %robust : !vecs, !vecs
}

// A robust mean of every column: values that are more than k deviations from the mean count as if they were there.
//
//   y = mean over i of clip(x, mean - k deviation, mean + k deviation)

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!num = tensor<f64>

func.func @winsorized_mean(
    %x: !mats,
    %k: !num {foreach.default = 1.5 : f64}) -> (!vecs, !vecs) {
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
  %squares = foreach.reduce add along i (%x = %x[i, j] : !mats, %mean = %mean[j] : !vecs) -> !vecs {
    %d = arith.subf %x, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    foreach.yield %d2 : f32
  }
  %reach = foreach.map (%squares = %squares, %n = %count : !vecs, %k = %k as f32 : !num) -> !vecs {
    // reach = k * sqrt(squares / n)
    %reach_1 = arith.divf %squares, %n : f32
    %reach_2 = math.sqrt %reach_1 : f32
    %reach = arith.mulf %k, %reach_2 : f32
    foreach.yield %reach : f32
  }
  %kept = foreach.reduce add along i (%x = %x[i, j] : !mats, %mean = %mean[j], %reach = %reach[j] : !vecs) -> !vecs {
    // y = min(max(x, mean - reach), mean + reach)
    %y_1 = arith.subf %mean, %reach : f32
    %y_2 = arith.maximumf %x, %y_1 : f32
    %y_3 = arith.addf %mean, %reach : f32
    %y = arith.minimumf %y_2, %y_3 : f32
    foreach.yield %y : f32
  }
  %robust = foreach.map (%kept = %kept, %n = %count : !vecs) -> !vecs {
    %robust = arith.divf %kept, %n : f32
    foreach.yield %robust : f32
  }
  return %mean, %robust : !vecs, !vecs
}

// The cosine of the angle between each row of a matrix and the same row of another one, and their mean.

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>

func.func @cosine_similarity(
    %x: !mats,
    %y: !mats,
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !each) {
  %product = foreach.reduce add along j (%x = %x[i, j], %y = %y[i, j] : !mats) -> !vecs {
    %xy = arith.mulf %x, %y : f32
    foreach.yield %xy : f32
  }
  %x2 = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    %x2 = arith.mulf %x, %x : f32
    foreach.yield %x2 : f32
  }
  %y2 = foreach.reduce add along j (%y = %y[i, j] : !mats) -> !vecs {
    %y2 = arith.mulf %y, %y : f32
    foreach.yield %y2 : f32
  }
  %cosine = foreach.map (%xy = %product, %x2 = %x2, %y2 = %y2 : !vecs, %eps = %eps as f32 : !num) -> !vecs {
    // cosine = xy / max(sqrt(x2) * sqrt(y2), eps)
    %cosine_1 = math.sqrt %x2 : f32
    %cosine_2 = math.sqrt %y2 : f32
    %cosine_3 = arith.mulf %cosine_1, %cosine_2 : f32
    %cosine_4 = arith.maximumf %cosine_3, %eps : f32
    %cosine = arith.divf %xy, %cosine_4 : f32
    foreach.yield %cosine : f32
  }
  %sum = foreach.reduce add along member (%c = %cosine : !vecs) -> !each {
    foreach.yield %c : f32
  }
  %rows = foreach.reduce add along member (%c = %cosine : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %mean = foreach.map (%sum = %sum, %n = %rows : !each) -> !each {
    %mean = arith.divf %sum, %n : f32
    foreach.yield %mean : f32
  }
  return %cosine, %mean : !vecs, !each
}

// The cosine of the angle between each row of a matrix and the same row of another one, and their mean.

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!num = tensor<f64>

func.func @cosine_similarity(
    %x: !mats,
    %y: !mats,
    %eps: !num {foreach.default = 1.0e-8 : f64}) -> (!vecs, !each) {
  %product = foreach.reduce add along j (%x = %x[i, j] as !real, %y = %y[i, j] as !real : !mats) -> !vecs {
    %xy = arith.mulf %x, %y : !real
    foreach.yield %xy : !real
  }
  %x2 = foreach.reduce add along j (%x = %x[i, j] as !real : !mats) -> !vecs {
    %x2 = arith.mulf %x, %x : !real
    foreach.yield %x2 : !real
  }
  %y2 = foreach.reduce add along j (%y = %y[i, j] as !real : !mats) -> !vecs {
    %y2 = arith.mulf %y, %y : !real
    foreach.yield %y2 : !real
  }
  %cosine = foreach.map (%xy = %product, %x2 = %x2, %y2 = %y2 : !vecs, %eps = %eps as !real : !num) -> !vecs {
    // cosine = xy / max(sqrt(x2) * sqrt(y2), eps)
    %cosine_1 = math.sqrt %x2 : !real
    %cosine_2 = math.sqrt %y2 : !real
    %cosine_3 = arith.mulf %cosine_1, %cosine_2 : !real
    %cosine_4 = arith.maximumf %cosine_3, %eps : !real
    %cosine = arith.divf %xy, %cosine_4 : !real
    foreach.yield %cosine : !real
  }
  %mean = foreach.reduce mean along member (%c = %cosine : !vecs) -> !each {
    foreach.yield %c : !real
  }
  return %cosine, %mean : !vecs, !each
}

// The nearest of k centroids for each point, from the products of points and centroids and the centroids' squared norms.
// Also the number of points of each centroid.
//
//   label = argmax over j of 2 P - |c|^2

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!labels = !foreach.list<tensor<?xi64>>

func.func @kmeans_assignment(%P: !mats, %column_norm: !vecs) -> (!vecs, !labels) {
  %score, %label = foreach.reduce argmax along j (%p = %P[i, j] : !mats, %n = %column_norm[j] : !vecs)
      -> (!vecs, !labels) {
    // score = 2 * p - n
    %two = arith.constant 2.0 : f32
    %score_1 = arith.mulf %two, %p : f32
    %score = arith.subf %score_1, %n : f32
    foreach.yield %score : f32
  }
  return %score, %label : !vecs, !labels
}

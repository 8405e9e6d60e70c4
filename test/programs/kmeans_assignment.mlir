// The nearest of k centroids for each point, from the products of points and centroids and the centroids' squared
// norms.
//
//   label = argmax over j of 2 P - |c|^2

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!labels = !foreach.list<tensor<?xi64>>

func.func @kmeans_assignment(%P: !mats, %column_norm: !vecs) -> (!vecs, !labels) {
  %score, %label = foreach.reduce argmax along j (
      %p = %P[i, j] as !real : !mats, %n = %column_norm[j] : !vecs) -> (!vecs, !labels) {
    // score = 2 * p - n
    %two = arith.constant 2.0 : !real
    %score_1 = arith.mulf %two, %p : !real
    %score = arith.subf %score_1, %n : !real
    foreach.yield %score : !real
  }
  return %score, %label : !vecs, !labels
}

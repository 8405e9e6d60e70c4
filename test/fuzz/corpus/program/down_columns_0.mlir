!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
func.func @down(%x: !mats, %weight: !list, %shift: !list) -> (!list, !list) {
  %column = foreach.reduce add along i (%x = %x[i, j] : !mats, %w = %weight[i], %v = %shift[j] : !list) -> !list {
    %y = arith.mulf %x, %w : f32
    %z = arith.addf %y, %v : f32
    foreach.yield %z : f32
  }
  %mass = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %column, %mass : !list, !list
}

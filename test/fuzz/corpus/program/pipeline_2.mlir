!vec = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @softmax(%L: !mats) -> (!mats, !vec) {
  %m = foreach.reduce max along j (%l = %L : !mats) -> !vec {
    foreach.yield %l : f32
  }
  %s = foreach.reduce add along j (%l = %L : !mats, %m = %m[i] : !vec) -> !vec {
    %d = arith.subf %l, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %p = foreach.map (%l = %L : !mats, %m = %m[i], %s = %s[i] : !vec) -> !mats {
    %d = arith.subf %l, %m : f32
    %e = math.exp %d : f32
    %q = arith.divf %e, %s : f32
    foreach.yield %q : f32
  }
  %c = foreach.reduce add along i (%p = %p : !mats) -> !vec {
    foreach.yield %p : f32
  }
  return %p, %c : !mats, !vec
}

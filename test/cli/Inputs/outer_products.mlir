// A domain of rows and columns of one vector, whose elements are one value of
// each member.
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!mats = !foreach.list<tensor<?x?xf32>>

func.func @outer_products(%e: !each, %x: !list) -> (!list, !list, !mats) {
  %w = foreach.map (%x = %x : !list, %e = %e : !each) -> !list {
    foreach.yield %e : f32
  }
  %c = foreach.reduce add along i (%a = %w[i], %b = %w[j] : !list) -> !list {
    foreach.yield %b : f32
  }
  %r = foreach.reduce max along j (%a = %w[i], %b = %w[j] : !list) -> !list {
    foreach.yield %a : f32
  }
  %p = foreach.map (%a = %w[i], %b = %w[j] : !list) -> !mats {
    %k = foreach.index j : i64
    %f = arith.sitofp %k : i64 to f32
    %t = arith.addf %a, %b : f32
    %p = arith.addf %t, %f : f32
    foreach.yield %p : f32
  }
  return %c, %r, %p : !list, !list, !mats
}

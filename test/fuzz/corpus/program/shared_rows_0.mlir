!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @shared(%x: !mats, %row: !list, %col: !list, %t: !each) -> (!mats, !each, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i], %c = %col[j] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %r : f32
    %y = arith.subf %b, %c : f32
    foreach.yield %y : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list) -> !each {
    foreach.yield %r : f32
  }
  %sum = foreach.reduce add along member (%c = %col : !list) -> !each {
    foreach.yield %c : f32
  }
  return %y, %most, %sum : !mats, !each, !each
}

!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>
func.func @mixed(%x: !list, %a: !list, %y: !half, %s: !each) -> (!each, !each) {
  %m = foreach.reduce add along member (%x = %x, %a = %a : !list) -> !each {
    %1 = arith.mulf %x, %a : f32
    foreach.yield %1 : f32
  }
  %n0 = foreach.reduce add along member (%y = %y as f32 : !half) -> !each {
    foreach.yield %y : f32
  }
  %n = foreach.map (%n0 = %n0, %s = %s : !each) -> !each {
    %1 = arith.mulf %n0, %s : f32
    foreach.yield %1 : f32
  }
  return %m, %n : !each, !each
}

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @late(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %s: !each, %z: !list) -> (!mats, !list) {
  %t = foreach.map (%s = %s : !each) -> !each {
    %t = math.exp %s : f32
    foreach.yield %t : f32
  }
  %q = foreach.reduce add along member (%r = %row : !list, %t = %t : !each) -> !each {
    %p = arith.mulf %r, %t : f32
    foreach.yield %p : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %q = %q : !each) -> !mats {
    %a = arith.mulf %x, %q : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list, %q = %q : !each) -> !each {
    %p = arith.mulf %r, %q : f32
    foreach.yield %p : f32
  }
  %w = foreach.map (%z = %z : !list, %m = %most : !each) -> !list {
    %a = arith.mulf %z, %m : f32
    foreach.yield %a : f32
  }
  return %y, %w : !mats, !list
}

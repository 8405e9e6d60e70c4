!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @changes(%x: !mats, %row: !list, %t: !each {foreach.donate = 1 : i64}) -> (!mats, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %t = %t : !each) -> !mats {
    %e = math.exp %t : f32
    %a = arith.mulf %x, %e : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list) -> !each {
    foreach.yield %r : f32
  }
  %next = foreach.map (%t = %t, %m = %most : !each) -> !each {
    %n = arith.addf %t, %m : f32
    foreach.yield %n : f32
  }
  return %y, %next : !mats, !each
}

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @copied(%x: !list {foreach.donate = 0 : i64}) -> (!list, !list) {
  %a = foreach.map (%x = %x : !list) -> !list {
    %bound = math.tanh %x : f32
    %a = math.exp %bound : f32
    foreach.yield %a : f32
  }
  %s = foreach.reduce add along member (%a = %a : !list) -> !each {
    foreach.yield %a : f32
  }
  %t = foreach.reduce max along member (%a = %a : !list, %s = %s : !each) -> !each {
    %part = arith.divf %a, %s : f32
    foreach.yield %part : f32
  }
  %b = foreach.map (%x = %x : !list, %t = %t : !each) -> !list {
    %b = arith.mulf %x, %t : f32
    foreach.yield %b : f32
  }
  return %a, %b : !list, !list
}

!list = !foreach.list<tensor<?xf32>>
func.func @elements(%x: !list, %y: !list) -> !list {
  %z = foreach.map (%a = %x, %b = %y : !list) -> !list {
    %s = arith.addf %a, %b : f32
    foreach.yield %s : f32
  }
  return %z : !list
}

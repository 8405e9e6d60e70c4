!list = !foreach.list<tensor<?xf32>>
func.func @"\FF"(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    foreach.yield %x : f32
  }
  return %y : !list
}

!list = !foreach.list<tensor<?xf32>>
fused.program @no_schedule(%x: !list) {
  %y = fused.sweep launch <variants = [<scalars = value, blocks = 4>], arrive = [none]> (%a = %x : !list) -> !list { fused.yield %a : f32 }
  fused.yield
}

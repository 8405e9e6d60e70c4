!list = !foreach.list<tensor<?xf32>>
fused.program @position(%x: !list) {
  fused.sweep (%a = %x : !list) {
    %s:2 = "fused.reduce"(%a) <{kind = 7 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (f32) -> (f32, i32)
    fused.yield
  }
  fused.yield
}

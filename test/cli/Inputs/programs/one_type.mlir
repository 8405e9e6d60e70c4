// A program whose element type is fixed.
!vecs = !foreach.list<tensor<?xf32>>
func.func @one_type(%x: !vecs) -> !vecs {
  %y = foreach.map (%x = %x : !vecs) -> !vecs {
    %y = arith.addf %x, %x : f32
    foreach.yield %y : f32
  }
  return %y : !vecs
}

// NaN for negative elements, otherwise 0.
!list = !foreach.list<tensor<?xf32>>
func.func @nan_or_zero(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %zero = arith.constant 0.0 : f32
    %root = math.sqrt %x : f32
    %y = arith.mulf %root, %zero : f32
    foreach.yield %y : f32
  }
  return %y : !list
}

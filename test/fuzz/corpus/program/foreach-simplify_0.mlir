!list = !foreach.list<tensor<?xf32>>
func.func @exact(%x: !list) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %minus = arith.constant -0.0 : f32
    %a = arith.mulf %x, %one : f32
    %b = arith.subf %a, %zero : f32
    %c = arith.addf %b, %minus : f32
    %d = arith.addf %c, %zero : f32
    %e = arith.subf %d, %d : f32
    %f = arith.mulf %e, %zero : f32
    foreach.yield %f : f32
  }
  return %y : !list
}

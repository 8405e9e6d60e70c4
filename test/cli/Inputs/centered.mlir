!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @centered(%A: !mats {foreach.donate = 0 : i64}) -> !mats {
  %r = foreach.reduce mean along j (%a = %A[i, j] : !mats) -> !vecs {
    foreach.yield %a : f32
  }
  %c = foreach.reduce mean along i (%a = %A[i, j] : !mats) -> !vecs {
    foreach.yield %a : f32
  }
  %B = foreach.map (%a = %A[i, j] : !mats, %r = %r[i], %c = %c[j] : !vecs) -> !mats {
    %x = arith.subf %a, %r : f32
    %y = arith.subf %x, %c : f32
    foreach.yield %y : f32
  }
  return %B : !mats
}

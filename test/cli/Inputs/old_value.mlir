!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @old_value(%p: !list {foreach.donate = 0 : i64}, %g: !list, %q: !list {foreach.donate = 1 : i64}) -> (!list, !list) {
  %new = foreach.map (%p = %p, %g = %g : !list) -> !list {
    %c = arith.constant 0.1 : f32
    %t = arith.mulf %c, %g : f32
    %r = arith.subf %p, %t : f32
    foreach.yield %r : f32
  }
  %squares = foreach.reduce add along member (%x = %new : !list) -> !each {
    %y = arith.mulf %x, %x : f32
    foreach.yield %y : f32
  }
  %q1 = foreach.map (%p = %p, %q = %q : !list, %n = %squares : !each) -> !list {
    %t = arith.mulf %p, %n : f32
    %r = arith.addf %t, %q : f32
    foreach.yield %r : f32
  }
  return %new, %q1 : !list, !list
}

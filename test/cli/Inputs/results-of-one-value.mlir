!L = !foreach.list<tensor<?xf32>>
!S = !foreach.list<tensor<f32>>
func.func @results(%a: !L {foreach.donate = 0 : i64}, %b: !L, %t: tensor<f32>) -> (!L, !L, !L, !L, !S, !S, tensor<f32>, tensor<f32>) {
  %r = foreach.map (%x = %a, %y = %b : !L) -> !L { %y2 = arith.addf %x, %y : f32
    foreach.yield %y2 : f32 }
  %s = foreach.reduce add along member (%x = %b : !L) -> !S { foreach.yield %x : f32 }
  %u = foreach.map (%t = %t : tensor<f32>) -> tensor<f32> { %q = arith.addf %t, %t : f32
   foreach.yield %q : f32 }
  return %r, %r, %a, %b, %s, %s, %u, %u : !L, !L, !L, !L, !S, !S, tensor<f32>, tensor<f32>
}

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
func.func @map(%p: !list {foreach.donate = 0 : i64}, %lr: !num {foreach.default = 1.0e-3 : f64}) -> !list {
  %q = foreach.map (%x = %p : !list, %lr = %lr as f32 : !num) -> !list {
    %v = arith.mulf %x, %lr : f32
    foreach.yield %v : f32
  }
  return %q : !list
}

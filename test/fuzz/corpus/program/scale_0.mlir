!list = !foreach.list<tensor<?xf32>>
func.func @scale(%x: !list {foreach.donate = 0 : i64}, %by: tensor<f64> {foreach.default = 2.5 : f64}) -> !list {
  %y = foreach.map (%x = %x : !list, %by = %by as f32 : tensor<f64>) -> !list {
    %y = arith.mulf %x, %by : f32
    foreach.yield %y : f32
  }
  return %y : !list
}

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
func.func @chain(%x: !list {foreach.donate = 0 : i64}, %lr: !num) -> !list {
  %s = foreach.reduce add along list (%x = %x as f64 : !list) -> !num {
    foreach.yield %x : f64
  }
  %y = foreach.map (%x = %x : !list, %s = %s as f32, %lr = %lr as f32 : !num) -> !list {
    %a = arith.mulf %x, %s : f32
    %b = arith.mulf %a, %lr : f32
    foreach.yield %b : f32
  }
  return %y : !list
}

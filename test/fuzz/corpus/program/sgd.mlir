!list = !foreach.list<tensor<?xf32>>
module {
  func.func @sgd(%param: !list {foreach.donate = 0 : i64}, %grad: !list, %momentum_buffer: !list {foreach.donate = 1 : i64, foreach.initial = 0.000000e+00 : f32}, %lr: tensor<f64> {foreach.default = 1.000000e-03 : f64}, %momentum: tensor<f64> {foreach.default = 9.000000e-01 : f64}) -> (!list, !list) {
    %param1, %momentum_buffer1 = foreach.map (%param = %param, %grad = %grad, %momentum_buffer = %momentum_buffer : !list, %lr = %lr as f32, %momentum = %momentum as f32 : tensor<f64>) -> (!list, !list) {
      %kept = arith.mulf %momentum_buffer, %momentum : f32
      %momentum_buffer1 = arith.addf %kept, %grad : f32
      %change = arith.mulf %lr, %momentum_buffer1 : f32
      %param1 = arith.subf %param, %change : f32
      foreach.yield %param1, %momentum_buffer1 : f32, f32
    }
    return %param1, %momentum_buffer1 : !list, !list
  }
}

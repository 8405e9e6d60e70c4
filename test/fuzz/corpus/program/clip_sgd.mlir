!list = !foreach.list<tensor<?xf32>>
module {
  func.func @clip_by_global_norm_sgd(%grad: !list, %max_norm: tensor<f64> {foreach.default = 1.000000e+00 : f64}, %param: !list {foreach.donate = 1 : i64}, %lr: tensor<f64> {foreach.default = 1.000000e-03 : f64}) -> (tensor<f64>, !list) {
    %sum = foreach.reduce add along list (%grad = %grad as f64 : !list) -> tensor<f64> {
      %square = arith.mulf %grad, %grad : f64
      foreach.yield %square : f64
    }
    %norm, %clip = foreach.map (%sum = %sum, %max_norm = %max_norm : tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %norm = math.sqrt %sum : f64
      %tiny = arith.constant 9.9999999999999995E-7 : f64
      %padded = arith.addf %norm, %tiny : f64
      %ratio = arith.divf %max_norm, %padded : f64
      %one = arith.constant 1.000000e+00 : f64
      %clip = arith.minimumf %ratio, %one : f64
      foreach.yield %norm, %clip : f64, f64
    }
    %clipped = foreach.map (%grad = %grad : !list, %clip = %clip as f32 : tensor<f64>) -> !list {
      %clipped = arith.mulf %grad, %clip : f32
      foreach.yield %clipped : f32
    }
    %param1 = foreach.map (%param = %param, %grad = %clipped : !list, %lr = %lr as f32 : tensor<f64>) -> !list {
      %change = arith.mulf %lr, %grad : f32
      %param1 = arith.subf %param, %change : f32
      foreach.yield %param1 : f32
    }
    return %norm, %param1 : tensor<f64>, !list
  }
}

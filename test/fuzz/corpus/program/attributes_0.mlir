!list = !foreach.list<tensor<?xf32>>
func.func @function(%x: !list {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
                    %lr: tensor<f64> {foreach.default = 1.0e-3 : f64}, %n: tensor<i32> {foreach.default = 5 : i32})
    -> (tensor<f64>, !list) {
  return %lr, %x : tensor<f64>, !list
}

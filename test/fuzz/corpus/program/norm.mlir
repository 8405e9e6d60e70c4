!list_f16 = !foreach.list<tensor<?xf16>>
!list_f64 = !foreach.list<tensor<?xf64>>
module {
  func.func @global_norm(%grad_f16: !list_f16, %grad_f64: !list_f64) -> tensor<f64> {
    %sum_f16 = foreach.reduce add along list (%grad = %grad_f16 as f64 : !list_f16) -> tensor<f64> {
      %square = arith.mulf %grad, %grad : f64
      foreach.yield %square : f64
    }
    %sum_f64 = foreach.reduce add along list (%grad = %grad_f64 : !list_f64) -> tensor<f64> {
      %square = arith.mulf %grad, %grad : f64
      foreach.yield %square : f64
    }
    %norm = foreach.map (%sum_f16 = %sum_f16, %sum_f64 = %sum_f64 : tensor<f64>) -> tensor<f64> {
      %total = arith.addf %sum_f16, %sum_f64 : f64
      %norm = math.sqrt %total : f64
      foreach.yield %norm : f64
    }
    return %norm : tensor<f64>
  }
}

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
func.func @halve(%x0: !list {foreach.donate = 0 : i64}, %limit: tensor<i32>, %tol: !num) -> (!list, !num, tensor<i32>) {
  %x, %sum, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !num, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    %sum = foreach.reduce add along list (%x = %x1 as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %more = foreach.map (%s = %sum, %tol = %tol : !num) -> tensor<i1> {
      %more = arith.cmpf ogt, %s, %tol : f64
      foreach.yield %more : i1
    }
    foreach.yield %x1, %sum while %more : !list, !num while tensor<i1>
  }
  return %x, %sum, %iterations : !list, !num, tensor<i32>
}

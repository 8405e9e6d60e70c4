!list = !foreach.list<tensor<?xf32>>
func.func @for_all(%x0: !list, %n0: tensor<i32>, %limit: tensor<i32>) -> (!list, tensor<i32>, tensor<i32>) {
  %x, %n, %iterations = foreach.while (%x = %x0 : !list, %n = %n0 : tensor<i32>) upto %limit
      -> (!list, tensor<i32>, tensor<i32>) {
    %x1 = foreach.map (%a = %x : !list) -> !list {
      %b = arith.mulf %a, %a : f32
      foreach.yield %b : f32
    }
    %more = foreach.map (%n = %n : tensor<i32>) -> tensor<i1> {
      %ten = arith.constant 10 : i32
      %m = arith.cmpi slt, %n, %ten : i32
      foreach.yield %m : i1
    }
    foreach.yield %x1, %n while %more : !list, tensor<i32> while tensor<i1>
  }
  return %x, %n, %iterations : !list, tensor<i32>, tensor<i32>
}

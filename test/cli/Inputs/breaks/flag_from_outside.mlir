// The loop has no operations: its flag is decided before it.
!list = !foreach.list<tensor<?xf32>>
func.func @f(%x: !list, %negate: tensor<i1>, %limit: tensor<i32>) -> (!list, tensor<i32>) {
  %sum = foreach.reduce add along list (%e = %x : !list) -> tensor<f32> {
    %square = arith.mulf %e, %e : f32
    foreach.yield %square : f32
  }
  %flag = foreach.map (%s = %sum : tensor<f32>, %n = %negate : tensor<i1>) -> tensor<i1> {
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %s, %zero : f32
    %more = arith.xori %positive, %n : i1
    foreach.yield %more : i1
  }
  %r, %n = foreach.while (%c = %x : !list) upto %limit -> (!list, tensor<i32>) {
    foreach.yield %c while %flag : !list while tensor<i1>
  }
  return %r, %n : !list, tensor<i32>
}

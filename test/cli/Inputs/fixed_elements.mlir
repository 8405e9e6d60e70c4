!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @fixed_elements(%A: !mats, %x0: !vecs, %n: tensor<i32>) -> (!vecs, tensor<i32>) {
  %x, %iterations = foreach.while (%x = %x0 : !vecs) upto %n -> (!vecs, tensor<i32>) {
    %y = foreach.reduce max along j (%a = %A[i, j] : !mats, %x = %x[i] : !vecs) -> !vecs {
      %s = arith.mulf %a, %x : f32
      foreach.yield %s : f32
    }
    foreach.yield %y : !vecs
  }
  return %x, %iterations : !vecs, tensor<i32>
}

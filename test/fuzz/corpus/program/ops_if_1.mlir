!list = !foreach.list<tensor<?xf32>>
func.func @several(%x: !list, %n: tensor<i32>, %flag: tensor<i1>) -> (!list, tensor<i32>) {
  %r:2 = foreach.if %flag attributes {note} -> (!list, tensor<i32>) {
    foreach.yield %x, %n : !list, tensor<i32>
  } else (%x, %n)
  return %r#0, %r#1 : !list, tensor<i32>
}

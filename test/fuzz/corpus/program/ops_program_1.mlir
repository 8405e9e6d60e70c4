!list = !foreach.list<tensor<?xf32>>
fused.program private @returns_arguments(%x: !list, %s: tensor<f64>) -> (!list, tensor<f64>) attributes {note = "kept"} {
  fused.yield %x, %s : !list, tensor<f64>
}

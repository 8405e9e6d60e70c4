!list = !foreach.list<tensor<?xf32>>
fused.program @program(%x: !list {foreach.donate = 0 : i64}, %lr: tensor<f64> {foreach.default = 1.0e-3 : f64}) -> !list {
  fused.yield %x : !list
}

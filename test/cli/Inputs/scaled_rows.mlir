// Weighted row sums, and column sums scaled by them: a program whose lists have different extents.
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @scaled_rows(%x: !mats, %weight: !list, %scale: tensor<f64> {foreach.default = 2.0 : f64}) -> (!list, !list) {
  %row = foreach.reduce add along j (%x = %x[i, j] : !mats, %w = %weight[j] : !list, %s = %scale as f32 : tensor<f64>) -> !list {
    %a = arith.mulf %x, %w : f32
    %b = arith.mulf %a, %s : f32
    foreach.yield %b : f32
  }
  %col = foreach.reduce add along i (%x = %x[i, j] : !mats, %r = %row[i] : !list) -> !list {
    %a = arith.mulf %x, %r : f32
    foreach.yield %a : f32
  }
  return %row, %col : !list, !list
}

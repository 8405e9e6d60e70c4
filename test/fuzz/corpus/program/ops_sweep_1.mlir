!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
fused.program @segments(%x: !list, %y: !half, %scale: tensor<f64>) -> (!list, !half, tensor<f64>) {
  %p, %s1, %q, %s2, %norm = fused.sweep (%a = %x : !list, %s = %scale as f32 : tensor<f64>) -> (!list, tensor<f64>) {
    %b = arith.mulf %a, %s : f32
    %sum = fused.reduce add list %b : f32
    fused.yield %b, %sum : f32, f32
  } and (%a = %y as f32 : !half) -> (!half, tensor<f64>) {
    %sum = fused.reduce add list %a : f32
    fused.yield %a, %sum : f32, f32
  } epilogue [%one : f64, %two : f64] () -> tensor<f64> {
    %sum = arith.addf %one, %two : f64
    %norm = math.sqrt %sum : f64
    fused.yield %norm : f64
  }
  fused.yield %p, %q, %norm : !list, !half, tensor<f64>
}

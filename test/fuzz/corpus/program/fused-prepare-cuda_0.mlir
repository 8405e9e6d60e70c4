!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!num = tensor<f64>
fused.program @step(%x: !list, %t: !each, %b: !num) -> (!list, !each) {
  %y, %n = fused.sweep (%x = %x : !list, %t = %t : !each, %b = %b : !num) -> (!list, !each) {
    %s = fused.reduce add member %x : f32
    %n = math.sqrt %s : f32
    %u = arith.addf %t, %t : f32
    %v = arith.addf %t, %t : f32
    %y = arith.mulf %x, %u : f32
    %one = arith.constant 1.0 : f64
    %w = arith.subf %one, %b : f64
    %f = arith.truncf %w : f64 to f32
    %z = arith.mulf %y, %f : f32
    fused.yield %z, %n : f32, f32
  }
  fused.yield %y, %n : !list, !each
}

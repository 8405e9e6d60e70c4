!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
fused.program @roles(%x: !list loc("x")) -> !list {
  %s, %n = fused.sweep (%x = %x as f64 : !list) -> !num {
    %s = fused.reduce add list %x : f64
    fused.yield %s : f64
  } epilogue [%s : f64] () -> !num {
    %n = math.sqrt %s : f64
    fused.yield %n : f64
  } loc(fused[callsite("s" at "k"), "n"])
  %y = fused.sweep (%x = %x : !list, %n = %n as f32 : !num) -> !list {
    %y = arith.divf %x, %n : f32
    fused.yield %y : f32
  } loc("y")
  fused.yield %y : !list
}

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
func.func @unused(%x: !list, %z: !list, %lr: !num) -> !list {
  %y, %no = foreach.map (%a = %x, %b = %x, %z = %z : !list, %lr = %lr as f32 : !num) -> (!list, !list) {
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %p, %q : f32
    %t = arith.mulf %lr, %z : f32
    foreach.yield %s, %t : f32, f32
  }
  return %y : !list
}

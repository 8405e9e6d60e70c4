!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @late_list(%x: !mats {foreach.donate = 0 : i64}, %row: !list, %z: !list) -> (!mats, !list) {
  %q = foreach.reduce add along list (%r = %row : !list) -> tensor<f32> {
    foreach.yield %r : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %q = %q : tensor<f32>) -> !mats {
    %a = arith.mulf %x, %q : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along list (%r = %row : !list, %q = %q : tensor<f32>) -> tensor<f32> {
    %p = arith.mulf %r, %q : f32
    foreach.yield %p : f32
  }
  %w = foreach.map (%z = %z : !list, %m = %most : tensor<f32>) -> !list {
    %a = arith.mulf %z, %m : f32
    foreach.yield %a : f32
  }
  return %y, %w : !mats, !list
}

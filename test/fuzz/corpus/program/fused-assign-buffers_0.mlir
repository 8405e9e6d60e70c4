!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
fused.program @in_place(%p: !list {foreach.donate = 0 : i64}, %g: !list, %t: !each {foreach.donate = 1 : i64},
                       %n: tensor<f32> {foreach.donate = 2 : i64}) -> (!list, !each, tensor<f32>) {
  %p1, %t1, %n1 = fused.sweep (%p = %p, %g = %g : !list, %t = %t : !each, %n = %n : tensor<f32>) -> (!list, !each) {
    %a = arith.addf %p, %g : f32
    %b = arith.addf %t, %n : f32
    fused.yield %a, %b : f32, f32
  } epilogue [] (%n = %n : tensor<f32>) -> tensor<f32> {
    %m = arith.addf %n, %n : f32
    fused.yield %m : f32
  }
  fused.yield %p1, %t1, %n1 : !list, !each, tensor<f32>
}

!list = !foreach.list<tensor<?xf32>>
fused.program @sum(%x0: !list, %limit: tensor<i32>) -> (!list, tensor<f32>) {
  %x, %sum, %n = fused.loop (%x = %x0 : !list) upto %limit -> (!list, tensor<f32>, tensor<i32>) {
    %y, %sum, %more = fused.sweep (%a = %x : !list) -> (!list, tensor<f32>) {
      %s = fused.reduce add list %a : f32
      fused.yield %a, %s : f32, f32
    } epilogue [%s : f32] () -> tensor<i1> {
      %m = arith.cmpf ogt, %s, %s : f32
      fused.yield %m : i1
    }
    fused.yield %y, %sum while %more : !list, tensor<f32> while tensor<i1>
  }
  fused.yield %x, %sum : !list, tensor<f32>
}

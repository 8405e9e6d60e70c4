!list = !foreach.list<tensor<?xf32>>
fused.program @for_all(%x0: !list, %limit: tensor<i32>) -> (!list, tensor<f32>, tensor<i32>) {
  %x, %sum, %iterations = fused.loop (%x = %x0 : !list) upto %limit attributes {note = "kept"}
      -> (!list, tensor<f32>, tensor<i32>) {
    %y, %sum, %more = fused.sweep (%a = %x : !list) -> (!list, tensor<f32>) {
      %b = arith.mulf %a, %a : f32
      %s = fused.reduce add list %b : f32
      fused.yield %b, %s : f32, f32
    } epilogue [%s : f32] () -> tensor<i1> {
      %one = arith.constant 1.0 : f32
      %m = arith.cmpf ogt, %s, %one : f32
      fused.yield %m : i1
    }
    fused.yield %y, %sum while %more : !list, tensor<f32> while tensor<i1>
  }
  fused.yield %x, %sum, %iterations : !list, tensor<f32>, tensor<i32>
}

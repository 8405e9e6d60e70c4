!each = !foreach.list<tensor<f32>>
func.func @for_each(%x0: !each, %limit: tensor<i32>) -> (!each, !each, !foreach.list<tensor<i32>>) {
  %x, %half, %iterations = foreach.while (%x = %x0 : !each) upto %limit attributes {note = 1 : i64}
      -> (!each, !each, !foreach.list<tensor<i32>>) {
    %half, %more = foreach.map (%a = %x : !each) -> (!each, !foreach.list<tensor<i1>>) {
      %h = arith.constant 0.5 : f32
      %b = arith.mulf %a, %h : f32
      %m = arith.cmpf ogt, %b, %h : f32
      foreach.yield %b, %m : f32, i1
    }
    foreach.yield %half, %half while %more : !each, !each while !foreach.list<tensor<i1>>
  }
  return %x, %half, %iterations : !each, !each, !foreach.list<tensor<i32>>
}

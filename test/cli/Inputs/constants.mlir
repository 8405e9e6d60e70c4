// Counts steps, once for each element and once for each member.
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @constants(%y: !vecs {foreach.donate = 0 : i64, foreach.initial = 0.0 : f32},
                     %count: !each {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32}) -> (!vecs, !each) {
  %y1 = foreach.map (%y = %y : !vecs) -> !vecs {
    %one = arith.constant 1.0 : f32
    %y1 = arith.addf %y, %one : f32
    foreach.yield %y1 : f32
  }
  %count1 = foreach.map (%count = %count : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %count1 = arith.addf %count, %one : f32
    foreach.yield %count1 : f32
  }
  return %y1, %count1 : !vecs, !each
}

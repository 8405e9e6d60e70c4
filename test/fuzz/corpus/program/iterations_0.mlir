!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
func.func @anneal(%x0: !list {foreach.donate = 0 : i64}, %schedule: !list, %history: !list {foreach.donate = 1 : i64},
                  %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %x, %h, %iterations = foreach.while (%x = %x0, %h = %history : !list) upto %limit -> (!list, !list, !iteration) {
    %x1 = foreach.map (%x = %x, %s = %schedule[iteration] : !list) -> !list {
      %y = arith.mulf %x, %s : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along member (%y = %x1 : !list) -> !each {
      foreach.yield %y : f32
    }
    %h1 = foreach.record %e in %h : !each in !list
    %more = foreach.map (%e = %e : !each) -> !flag {
      %k = foreach.iteration : i32
      %two = arith.constant 2 : i32
      %early = arith.cmpi slt, %k, %two : i32
      %one = arith.constant 1.0 : f32
      %large = arith.cmpf ogt, %e, %one : f32
      %more = arith.ori %early, %large : i1
      foreach.yield %more : i1
    }
    foreach.yield %x1, %h1 while %more : !list, !list while !flag
  }
  return %x, %h, %iterations : !list, !list, !iteration
}

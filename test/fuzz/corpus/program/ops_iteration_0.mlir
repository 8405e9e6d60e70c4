!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!halfs = !foreach.list<tensor<?xbf16>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
func.func @anneal(%x: !mats, %epsilons: !list, %errors: !halfs, %limit: tensor<i32>)
    -> (!halfs, !foreach.list<tensor<i32>>) {
  %h, %iterations = foreach.while (%h = %errors : !halfs) upto %limit -> (!halfs, !foreach.list<tensor<i32>>) {
    %sum = foreach.reduce add along member (%a = %x[i, j] : !mats, %e = %epsilons[iteration] as f64 : !list) -> !each {
      %w = arith.extf %a : f32 to f64
      %p = arith.mulf %w, %e : f64
      foreach.yield %p : f64
    }
    %more = foreach.map (%s = %sum : !each, %e = %epsilons[next], %f = %epsilons[first] : !list) -> !flag {
      %k = foreach.iteration : i32
      %t = arith.sitofp %k : i32 to f32
      %b = arith.addf %e, %t : f32
      %m = arith.cmpf ogt, %s, %b : f32
      foreach.yield %m : i1
    }
    %h1 = foreach.record %sum in %h : !each in !halfs
    foreach.yield %h1 while %more : !halfs while !flag
  }
  return %h, %iterations : !halfs, !foreach.list<tensor<i32>>
}

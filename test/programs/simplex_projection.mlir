// The nearest point of the probability simplex to each vector, by bisection of the threshold (Condat, Fast Projection
// onto the Simplex and the l1 Ball, section 2).
//
//   y = max(x - t, 0) with the t for which the sum of y is 1

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

func.func @simplex_projection(
    %x: !vecs,
    %limit: tensor<i32> {foreach.default = 30 : i32}) -> (!vecs, !each) {
  %most = foreach.reduce max along member (%x = %x : !vecs) -> !each {
    foreach.yield %x : f32
  }
  %least = foreach.map (%most = %most : !each) -> !each {
    %one = arith.constant 1.0 : f32
    %least = arith.subf %most, %one : f32
    foreach.yield %least : f32
  }
  %low, %high, %iterations = foreach.while (%low = %least, %high = %most : !each) upto %limit
      -> (!each, !each, tensor<i32>) {
    %sum = foreach.reduce add along member (%x = %x : !vecs, %low = %low, %high = %high : !each) -> !each {
      // y = max(x - 0.5 * (low + high), 0.0)
      %half = arith.constant 0.5 : f32
      %y_1 = arith.addf %low, %high : f32
      %y_2 = arith.mulf %half, %y_1 : f32
      %y_3 = arith.subf %x, %y_2 : f32
      %zero = arith.constant 0.0 : f32
      %y = arith.maximumf %y_3, %zero : f32
      foreach.yield %y : f32
    }
    %low1, %high1 = foreach.map (%sum = %sum, %low = %low, %high = %high : !each) -> (!each, !each) {
      // middle = 0.5 * (low + high)
      %half = arith.constant 0.5 : f32
      %middle_1 = arith.addf %low, %high : f32
      %middle = arith.mulf %half, %middle_1 : f32
      %one = arith.constant 1.0 : f32
      %above = arith.cmpf ogt, %sum, %one : f32
      %low1 = arith.select %above, %middle, %low : f32
      %high1 = arith.select %above, %high, %middle : f32
      foreach.yield %low1, %high1 : f32, f32
    }
    %more = foreach.map () -> tensor<i1> {
      %true = arith.constant true
      foreach.yield %true : i1
    }
    foreach.yield %low1, %high1 while %more : !each, !each while tensor<i1>
  }
  %y = foreach.map (%x = %x : !vecs, %low = %low, %high = %high : !each) -> !vecs {
    // y = max(x - 0.5 * (low + high), 0.0)
    %half = arith.constant 0.5 : f32
    %y_1 = arith.addf %low, %high : f32
    %y_2 = arith.mulf %half, %y_1 : f32
    %y_3 = arith.subf %x, %y_2 : f32
    %zero = arith.constant 0.0 : f32
    %y = arith.maximumf %y_3, %zero : f32
    foreach.yield %y : f32
  }
  %t = foreach.map (%low = %low, %high = %high : !each) -> !each {
    // t = 0.5 * (low + high)
    %half = arith.constant 0.5 : f32
    %t_1 = arith.addf %low, %high : f32
    %t = arith.mulf %half, %t_1 : f32
    foreach.yield %t : f32
  }
  return %y, %t : !vecs, !each
}

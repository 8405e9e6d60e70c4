// The nearest point of the probability simplex to each vector, by bisection of the threshold (Condat, Fast Projection
// onto the Simplex and the l1 Ball, section 2).
//
//   y = max(x - t, 0) with the t for which the sum of y is 1

!element = f32 // of the vectors
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>

func.func @simplex_projection(
    %x: !vecs,
    %limit: tensor<i32> {foreach.default = 30 : i32}) -> (!vecs, !each) {
  %most = foreach.reduce max along member (%x = %x as !real : !vecs) -> !each {
    foreach.yield %x : !real
  }
  %least = foreach.map (%most = %most : !each) -> !each {
    %one = arith.constant 1.0 : !real
    %least = arith.subf %most, %one : !real
    foreach.yield %least : !real
  }
  %low, %high, %iterations = foreach.while (%low = %least, %high = %most : !each) upto %limit
      -> (!each, !each, tensor<i32>) {
    %sum = foreach.reduce add along member (%x = %x as !real : !vecs, %low = %low, %high = %high : !each) -> !each {
      // y = max(x - 0.5 * (low + high), 0.0)
      %half = arith.constant 0.5 : !real
      %y_1 = arith.addf %low, %high : !real
      %y_2 = arith.mulf %half, %y_1 : !real
      %y_3 = arith.subf %x, %y_2 : !real
      %zero = arith.constant 0.0 : !real
      %y = arith.maximumf %y_3, %zero : !real
      foreach.yield %y : !real
    }
    %low1, %high1 = foreach.map (%sum = %sum, %low = %low, %high = %high : !each) -> (!each, !each) {
      // middle = 0.5 * (low + high)
      %half = arith.constant 0.5 : !real
      %middle_1 = arith.addf %low, %high : !real
      %middle = arith.mulf %half, %middle_1 : !real
      %one = arith.constant 1.0 : !real
      %above = arith.cmpf ogt, %sum, %one : !real
      %low1 = arith.select %above, %middle, %low : !real
      %high1 = arith.select %above, %high, %middle : !real
      foreach.yield %low1, %high1 : !real, !real
    }
    foreach.yield %low1, %high1 : !each, !each
  }
  %y = foreach.map (%x = %x as !real : !vecs, %low = %low, %high = %high : !each) -> !vecs {
    // y = max(x - 0.5 * (low + high), 0.0)
    %half = arith.constant 0.5 : !real
    %y_1 = arith.addf %low, %high : !real
    %y_2 = arith.mulf %half, %y_1 : !real
    %y_3 = arith.subf %x, %y_2 : !real
    %zero = arith.constant 0.0 : !real
    %y = arith.maximumf %y_3, %zero : !real
    foreach.yield %y : !real
  }
  %t = foreach.map (%low = %low, %high = %high : !each) -> !each {
    // t = 0.5 * (low + high)
    %half = arith.constant 0.5 : !real
    %t_1 = arith.addf %low, %high : !real
    %t = arith.mulf %half, %t_1 : !real
    foreach.yield %t : !real
  }
  return %y, %t : !vecs, !each
}

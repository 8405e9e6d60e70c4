// The largest eigenvalue of a symmetric matrix and its vector, by power iteration with the Rayleigh quotient.
//
//   y = A x / |A x|,  value = x A x, until the value changes by at most tol of it

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @power_iteration(
    %A: !mats,
    %x0: !vecs,
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 200 : i32}) -> (!vecs, !each, !counts) {
  %squares = foreach.reduce add along i (%x = %x0 : !vecs) -> !each {
    %x2 = arith.mulf %x, %x : f32
    foreach.yield %x2 : f32
  }
  %start = foreach.map (%x = %x0 : !vecs, %s = %squares : !each) -> !vecs {
    // x1 = x / sqrt(s)
    %x1_1 = math.sqrt %s : f32
    %x1 = arith.divf %x, %x1_1 : f32
    foreach.yield %x1 : f32
  }
  %none = foreach.map (%s = %squares : !each) -> !each {
    %zero = arith.constant 0.0 : f32
    foreach.yield %zero : f32
  }
  %x, %value, %iterations = foreach.while (%x = %start : !vecs, %value = %none : !each) upto %limit
      -> (!vecs, !each, !counts) {
    %y = foreach.reduce add along j (%a = %A[i, j] : !mats, %x = %x[j] : !vecs) -> !vecs {
      %ax = arith.mulf %a, %x : f32
      foreach.yield %ax : f32
    }
    %y2 = foreach.reduce add along i (%y = %y : !vecs) -> !each {
      %y2 = arith.mulf %y, %y : f32
      foreach.yield %y2 : f32
    }
    %value1 = foreach.reduce add along i (%x = %x, %y = %y : !vecs) -> !each {
      %xy = arith.mulf %x, %y : f32
      foreach.yield %xy : f32
    }
    %x1 = foreach.map (%y = %y : !vecs, %s = %y2 : !each) -> !vecs {
      // x1 = y / sqrt(s)
      %x1_1 = math.sqrt %s : f32
      %x1 = arith.divf %y, %x1_1 : f32
      foreach.yield %x1 : f32
    }
    %more = foreach.map (%old = %value, %new = %value1 : !each, %tol = %tol as f32 : !num) -> !flags {
      // more = abs(new - old) > tol * abs(new)
      %more_1 = arith.subf %new, %old : f32
      %more_2 = math.absf %more_1 : f32
      %more_3 = math.absf %new : f32
      %more_4 = arith.mulf %tol, %more_3 : f32
      %more = arith.cmpf ogt, %more_2, %more_4 : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %value1 while %more : !vecs, !each while !flags
  }
  return %x, %value, %iterations : !vecs, !each, !counts
}

// The largest eigenvalue of a symmetric matrix and its vector, by power iteration with the Rayleigh quotient.
//
//   y = A x / |A x|,  value = x A x, until the value changes by at most tol of it

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @power_iteration(
    %A: !mats,
    %x0: !vecs,
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 200 : i32}) -> (!vecs, !each, !counts) {
  %squares = foreach.reduce add along i (%x = %x0 : !vecs) -> !each {
    %x2 = arith.mulf %x, %x : !real
    foreach.yield %x2 : !real
  }
  %start = foreach.map (%x = %x0 : !vecs, %s = %squares : !each) -> !vecs {
    // x1 = x / sqrt(s)
    %x1_1 = math.sqrt %s : !real
    %x1 = arith.divf %x, %x1_1 : !real
    foreach.yield %x1 : !real
  }
  %none = foreach.map (%s = %squares : !each) -> !each {
    %zero = arith.constant 0.0 : !real
    foreach.yield %zero : !real
  }
  %x, %value, %iterations = foreach.while (%x = %start : !vecs, %value = %none : !each) upto %limit
      -> (!vecs, !each, !counts) {
    %y = foreach.reduce add along j (%a = %A[i, j] as !real : !mats, %x = %x[j] : !vecs) -> !vecs {
      %ax = arith.mulf %a, %x : !real
      foreach.yield %ax : !real
    }
    %y2 = foreach.reduce add along i (%y = %y : !vecs) -> !each {
      %y2 = arith.mulf %y, %y : !real
      foreach.yield %y2 : !real
    }
    %value1 = foreach.reduce add along i (%x = %x, %y = %y : !vecs) -> !each {
      %xy = arith.mulf %x, %y : !real
      foreach.yield %xy : !real
    }
    %x1 = foreach.map (%y = %y : !vecs, %s = %y2 : !each) -> !vecs {
      // x1 = y / sqrt(s)
      %x1_1 = math.sqrt %s : !real
      %x1 = arith.divf %y, %x1_1 : !real
      foreach.yield %x1 : !real
    }
    %more = foreach.map (%old = %value, %new = %value1 : !each, %tol = %tol as !real : !num) -> !flags {
      // more = abs(new - old) > tol * abs(new)
      %more_1 = arith.subf %new, %old : !real
      %more_2 = math.absf %more_1 : !real
      %more_3 = math.absf %new : !real
      %more_4 = arith.mulf %tol, %more_3 : !real
      %more = arith.cmpf ogt, %more_2, %more_4 : !real
      foreach.yield %more : i1
    }
    foreach.yield %x1, %value1 while %more : !vecs, !each while !flags
  }
  return %x, %value, %iterations : !vecs, !each, !counts
}

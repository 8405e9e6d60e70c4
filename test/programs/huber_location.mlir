// The location of a sample by Huber's estimator with scale 1: weighted means until they move less than tol (Huber,
// Robust Estimation of a Location Parameter).
//
//   w = 1 if |x - m| <= k, k / |x - m| else,  m = sum of w x / sum of w

!element = f32 // of the vectors
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @huber_location(
    %x: !vecs,
    %k: !num {foreach.default = 0.8 : f64},
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 50 : i32}) -> (!each, !counts) {
  %mean = foreach.reduce mean along member (%x = %x as !real : !vecs) -> !each {
    foreach.yield %x : !real
  }
  %m, %iterations = foreach.while (%m = %mean : !each) upto %limit -> (!each, !counts) {
    %weights = foreach.reduce add along member (
        %x = %x as !real : !vecs, %m = %m : !each, %k = %k as !real : !num) -> !each {
      // d = abs(x - m)
      %d_1 = arith.subf %x, %m : !real
      %d = math.absf %d_1 : !real
      // w = select(d <= k, 1.0, k / d)
      %w_1 = arith.cmpf ole, %d, %k : !real
      %one = arith.constant 1.0 : !real
      %w_2 = arith.divf %k, %d : !real
      %w = arith.select %w_1, %one, %w_2 : !real
      foreach.yield %w : !real
    }
    %sums = foreach.reduce add along member (
        %x = %x as !real : !vecs, %m = %m : !each, %k = %k as !real : !num) -> !each {
      // d = abs(x - m)
      %d_1 = arith.subf %x, %m : !real
      %d = math.absf %d_1 : !real
      // w = select(d <= k, x, k / d * x)
      %w_1 = arith.cmpf ole, %d, %k : !real
      %w_2 = arith.divf %k, %d : !real
      %w_3 = arith.mulf %w_2, %x : !real
      %w = arith.select %w_1, %x, %w_3 : !real
      foreach.yield %w : !real
    }
    %m1, %more = foreach.map (
        %sums = %sums, %weights = %weights, %m = %m : !each, %tol = %tol as !real : !num) -> (!each, !flags) {
      %m1 = arith.divf %sums, %weights : !real
      // more = abs(m1 - m) > tol
      %more_1 = arith.subf %m1, %m : !real
      %more_2 = math.absf %more_1 : !real
      %more = arith.cmpf ogt, %more_2, %tol : !real
      foreach.yield %m1, %more : !real, i1
    }
    foreach.yield %m1 while %more : !each while !flags
  }
  return %m, %iterations : !each, !counts
}

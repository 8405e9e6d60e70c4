// The location of a sample by Huber's estimator with scale 1: weighted means until they move less than tol (Huber,
// Robust Estimation of a Location Parameter).
//
//   w = 1 if |x - m| <= k, k / |x - m| else,  m = sum of w x / sum of w

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @huber_location(
    %x: !vecs,
    %k: !num {foreach.default = 0.8 : f64},
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 50 : i32}) -> (!each, !counts) {
  %sum = foreach.reduce add along member (%x = %x : !vecs) -> !each {
    foreach.yield %x : f32
  }
  %count = foreach.reduce add along member (%x = %x : !vecs) -> !each {
    %one = arith.constant 1.0 : f32
    foreach.yield %one : f32
  }
  %mean = foreach.map (%sum = %sum, %n = %count : !each) -> !each {
    %mean = arith.divf %sum, %n : f32
    foreach.yield %mean : f32
  }
  %m, %iterations = foreach.while (%m = %mean : !each) upto %limit -> (!each, !counts) {
    %weights = foreach.reduce add along member (%x = %x : !vecs, %m = %m : !each, %k = %k as f32 : !num) -> !each {
      // d = abs(x - m)
      %d_1 = arith.subf %x, %m : f32
      %d = math.absf %d_1 : f32
      // w = select(d <= k, 1.0, k / d)
      %w_1 = arith.cmpf ole, %d, %k : f32
      %one = arith.constant 1.0 : f32
      %w_2 = arith.divf %k, %d : f32
      %w = arith.select %w_1, %one, %w_2 : f32
      foreach.yield %w : f32
    }
    %sums = foreach.reduce add along member (%x = %x : !vecs, %m = %m : !each, %k = %k as f32 : !num) -> !each {
      // d = abs(x - m)
      %d_1 = arith.subf %x, %m : f32
      %d = math.absf %d_1 : f32
      // w = select(d <= k, x, k / d * x)
      %w_1 = arith.cmpf ole, %d, %k : f32
      %w_2 = arith.divf %k, %d : f32
      %w_3 = arith.mulf %w_2, %x : f32
      %w = arith.select %w_1, %x, %w_3 : f32
      foreach.yield %w : f32
    }
    %m1, %more = foreach.map (
        %sums = %sums, %weights = %weights, %m = %m : !each, %tol = %tol as f32 : !num) -> (!each, !flags) {
      %m1 = arith.divf %sums, %weights : f32
      // more = abs(m1 - m) > tol
      %more_1 = arith.subf %m1, %m : f32
      %more_2 = math.absf %more_1 : f32
      %more = arith.cmpf ogt, %more_2, %tol : f32
      foreach.yield %m1, %more : f32, i1
    }
    foreach.yield %m1 while %more : !each while !flags
  }
  return %m, %iterations : !each, !counts
}

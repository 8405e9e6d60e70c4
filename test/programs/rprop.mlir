// Rprop: a step size for each element, which grows while the sign of the gradient stays (Riedmiller and Braun, A Direct
// Adaptive Method for Faster Backpropagation Learning). After a change of sign, the element does not move once.

!vecs = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

func.func @rprop(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %previous: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : f32},
    %size: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.01 : f32},
    %shrink: !num {foreach.default = 0.5 : f64},
    %grow: !num {foreach.default = 1.2 : f64},
    %least: !num {foreach.default = 1.0e-6 : f64},
    %most: !num {foreach.default = 50.0 : f64}) -> (!vecs, !vecs, !vecs) {
  %p, %last, %size1 = foreach.map (
      %p = %param, %g = %grad, %last = %previous, %size = %size : !vecs, %shrink = %shrink as f32, %grow = %grow as f32,
      %least = %least as f32, %most = %most as f32 : !num) -> (!vecs, !vecs, !vecs) {
    %product = arith.mulf %g, %last : f32
    // factor = select(product > 0, grow, select(product < 0, shrink, 1.0))
    %zero = arith.constant 0.0 : f32
    %factor_1 = arith.cmpf ogt, %product, %zero : f32
    %factor_2 = arith.cmpf olt, %product, %zero : f32
    %one = arith.constant 1.0 : f32
    %factor_3 = arith.select %factor_2, %shrink, %one : f32
    %factor = arith.select %factor_1, %grow, %factor_3 : f32
    // size1 = min(max(size * factor, least), most)
    %size1_1 = arith.mulf %size, %factor : f32
    %size1_2 = arith.maximumf %size1_1, %least : f32
    %size1 = arith.minimumf %size1_2, %most : f32
    // g1 = select(product < 0, 0.0, g)
    %g1_1 = arith.cmpf olt, %product, %zero : f32
    %g1 = arith.select %g1_1, %zero, %g : f32
    // p1 = p - sign(g1) * size1
    %p1_1 = foreach.sign %g1 : f32
    %p1_2 = arith.mulf %p1_1, %size1 : f32
    %p1 = arith.subf %p, %p1_2 : f32
    foreach.yield %p1, %g1, %size1 : f32, f32, f32
  }
  return %p, %last, %size1 : !vecs, !vecs, !vecs
}

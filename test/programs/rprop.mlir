// Rprop: a step size for each element, which grows while the sign of the gradient stays (Riedmiller and Braun, A Direct
// Adaptive Method for Faster Backpropagation Learning). After a change of sign, the element does not move once.

!element = f32 // of parameters, gradients and state
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!num = tensor<f64>

func.func @rprop(
    %param: !vecs {foreach.donate = 0 : i64},
    %grad: !vecs,
    %previous: !vecs {foreach.donate = 1 : i64, foreach.initial = 0.0 : !element},
    %size: !vecs {foreach.donate = 2 : i64, foreach.initial = 0.01 : !element},
    %shrink: !num {foreach.default = 0.5 : f64},
    %grow: !num {foreach.default = 1.2 : f64},
    %least: !num {foreach.default = 1.0e-6 : f64},
    %most: !num {foreach.default = 50.0 : f64}) -> (!vecs, !vecs, !vecs) {
  %p, %last, %size1 = foreach.map (
      %p = %param as !real, %g = %grad as !real, %last = %previous as !real, %size = %size as !real : !vecs,
      %shrink = %shrink as !real, %grow = %grow as !real, %least = %least as !real, %most = %most as !real : !num)
      -> (!vecs, !vecs, !vecs) {
    %product = arith.mulf %g, %last : !real
    // factor = select(product > 0, grow, select(product < 0, shrink, 1.0))
    %zero = arith.constant 0.0 : !real
    %factor_1 = arith.cmpf ogt, %product, %zero : !real
    %factor_2 = arith.cmpf olt, %product, %zero : !real
    %one = arith.constant 1.0 : !real
    %factor_3 = arith.select %factor_2, %shrink, %one : !real
    %factor = arith.select %factor_1, %grow, %factor_3 : !real
    // size1 = min(max(size * factor, least), most)
    %size1_1 = arith.mulf %size, %factor : !real
    %size1_2 = arith.maximumf %size1_1, %least : !real
    %size1 = arith.minimumf %size1_2, %most : !real
    // g1 = select(product < 0, 0.0, g)
    %g1_1 = arith.cmpf olt, %product, %zero : !real
    %g1 = arith.select %g1_1, %zero, %g : !real
    // p1 = p - sign(g1) * size1
    %p1_1 = foreach.sign %g1 : !real
    %p1_2 = arith.mulf %p1_1, %size1 : !real
    %p1 = arith.subf %p, %p1_2 : !real
    foreach.yield %p1, %g1, %size1 : !real, !real, !real
  }
  return %p, %last, %size1 : !vecs, !vecs, !vecs
}

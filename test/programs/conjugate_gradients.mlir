// Conjugate gradients for a symmetric positive definite matrix (Hestenes and Stiefel, Methods of Conjugate Gradients).

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @conjugate_gradients(
    %A: !mats,
    %b: !vecs,
    %tol: !num {foreach.default = 1.0e-4 : f64},
    %limit: tensor<i32> {foreach.default = 100 : i32}) -> (!vecs, !each, !counts) {
  %zero = foreach.map (%b = %b : !vecs) -> !vecs {
    %zero = arith.constant 0.0 : f32
    foreach.yield %zero : f32
  }
  %b2 = foreach.reduce add along i (%b = %b : !vecs) -> !each {
    %b2 = arith.mulf %b, %b : f32
    foreach.yield %b2 : f32
  }
  %x, %r, %p, %r2, %iterations = foreach.while (%x = %zero, %r = %b, %p = %b : !vecs, %r2 = %b2 : !each) upto %limit
      -> (!vecs, !vecs, !vecs, !each, !counts) {
    %q = foreach.reduce add along j (%a = %A[i, j] : !mats, %p = %p[j] : !vecs) -> !vecs {
      %ap = arith.mulf %a, %p : f32
      foreach.yield %ap : f32
    }
    %pq = foreach.reduce add along i (%p = %p, %q = %q : !vecs) -> !each {
      %pq = arith.mulf %p, %q : f32
      foreach.yield %pq : f32
    }
    %x1, %r1 = foreach.map (
        %x = %x, %r = %r, %p = %p, %q = %q : !vecs, %r2 = %r2, %pq = %pq : !each) -> (!vecs, !vecs) {
      %alpha = arith.divf %r2, %pq : f32
      // x1 = x + alpha * p
      %x1_1 = arith.mulf %alpha, %p : f32
      %x1 = arith.addf %x, %x1_1 : f32
      // r1 = r - alpha * q
      %r1_1 = arith.mulf %alpha, %q : f32
      %r1 = arith.subf %r, %r1_1 : f32
      foreach.yield %x1, %r1 : f32, f32
    }
    %s2 = foreach.reduce add along i (%r = %r1 : !vecs) -> !each {
      %s2 = arith.mulf %r, %r : f32
      foreach.yield %s2 : f32
    }
    %p1 = foreach.map (%r = %r1, %p = %p : !vecs, %s2 = %s2, %r2 = %r2 : !each) -> !vecs {
      // p1 = r + s2 / r2 * p
      %p1_1 = arith.divf %s2, %r2 : f32
      %p1_2 = arith.mulf %p1_1, %p : f32
      %p1 = arith.addf %r, %p1_2 : f32
      foreach.yield %p1 : f32
    }
    %more = foreach.map (%s2 = %s2, %b2 = %b2 : !each, %tol = %tol as f32 : !num) -> !flags {
      // more = s2 > tol * tol * b2
      %more_1 = arith.mulf %tol, %tol : f32
      %more_2 = arith.mulf %more_1, %b2 : f32
      %more = arith.cmpf ogt, %s2, %more_2 : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %r1, %p1, %s2 while %more : !vecs, !vecs, !vecs, !each while !flags
  }
  return %x, %r2, %iterations : !vecs, !each, !counts
}

// Conjugate gradients for a symmetric positive definite matrix (Hestenes and Stiefel, Methods of Conjugate Gradients).

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @conjugate_gradients(
    %A: !mats,
    %b: !vecs,
    %tol: !num {foreach.default = 1.0e-4 : f64},
    %limit: tensor<i32> {foreach.default = 100 : i32}) -> (!vecs, !each, !counts) {
  %zero = foreach.map (%b = %b : !vecs) -> !vecs {
    %zero = arith.constant 0.0 : !real
    foreach.yield %zero : !real
  }
  %b2 = foreach.reduce add along i (%b = %b : !vecs) -> !each {
    %b2 = arith.mulf %b, %b : !real
    foreach.yield %b2 : !real
  }
  %x, %r, %p, %r2, %iterations = foreach.while (%x = %zero, %r = %b, %p = %b : !vecs, %r2 = %b2 : !each) upto %limit
      -> (!vecs, !vecs, !vecs, !each, !counts) {
    %q = foreach.reduce add along j (%a = %A[i, j] as !real : !mats, %p = %p[j] : !vecs) -> !vecs {
      %ap = arith.mulf %a, %p : !real
      foreach.yield %ap : !real
    }
    %pq = foreach.reduce add along i (%p = %p, %q = %q : !vecs) -> !each {
      %pq = arith.mulf %p, %q : !real
      foreach.yield %pq : !real
    }
    %x1, %r1 = foreach.map (
        %x = %x, %r = %r, %p = %p, %q = %q : !vecs, %r2 = %r2, %pq = %pq : !each) -> (!vecs, !vecs) {
      %alpha = arith.divf %r2, %pq : !real
      // x1 = x + alpha * p
      %x1_1 = arith.mulf %alpha, %p : !real
      %x1 = arith.addf %x, %x1_1 : !real
      // r1 = r - alpha * q
      %r1_1 = arith.mulf %alpha, %q : !real
      %r1 = arith.subf %r, %r1_1 : !real
      foreach.yield %x1, %r1 : !real, !real
    }
    %s2 = foreach.reduce add along i (%r = %r1 : !vecs) -> !each {
      %s2 = arith.mulf %r, %r : !real
      foreach.yield %s2 : !real
    }
    %p1 = foreach.map (%r = %r1, %p = %p : !vecs, %s2 = %s2, %r2 = %r2 : !each) -> !vecs {
      // p1 = r + s2 / r2 * p
      %p1_1 = arith.divf %s2, %r2 : !real
      %p1_2 = arith.mulf %p1_1, %p : !real
      %p1 = arith.addf %r, %p1_2 : !real
      foreach.yield %p1 : !real
    }
    %more = foreach.map (%s2 = %s2, %b2 = %b2 : !each, %tol = %tol as !real : !num) -> !flags {
      // more = s2 > tol * tol * b2
      %more_1 = arith.mulf %tol, %tol : !real
      %more_2 = arith.mulf %more_1, %b2 : !real
      %more = arith.cmpf ogt, %s2, %more_2 : !real
      foreach.yield %more : i1
    }
    foreach.yield %x1, %r1, %p1, %s2 while %more : !vecs, !vecs, !vecs, !each while !flags
  }
  return %x, %r2, %iterations : !vecs, !each, !counts
}

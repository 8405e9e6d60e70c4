// Jacobi's iteration for A x = b, with the diagonal of A as a vector; the largest change stops it.
//
//   x = x + w (b - A x) / d

!element = f32 // of the matrices
!real    = f32 // of the arithmetic, vectors and scalars
!mats = !foreach.list<tensor<?x?x!element>>
!vecs = !foreach.list<tensor<?x!real>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @jacobi(
    %A: !mats,
    %diagonal: !vecs,
    %b: !vecs,
    %weight: !num {foreach.default = 0.9 : f64},
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 60 : i32}) -> (!vecs, !each, !counts) {
  %zero = foreach.map (%b = %b : !vecs) -> !vecs {
    %zero = arith.constant 0.0 : !real
    foreach.yield %zero : !real
  }
  %x, %change, %iterations = foreach.while (%x = %zero : !vecs) upto %limit -> (!vecs, !each, !counts) {
    %ax = foreach.reduce add along j (%a = %A[i, j] as !real : !mats, %x = %x[j] : !vecs) -> !vecs {
      %ax = arith.mulf %a, %x : !real
      foreach.yield %ax : !real
    }
    %x1 = foreach.map (%x = %x, %ax = %ax, %b = %b, %d = %diagonal : !vecs, %w = %weight as !real : !num) -> !vecs {
      // x1 = x + w * (b - ax) / d
      %x1_1 = arith.subf %b, %ax : !real
      %x1_2 = arith.mulf %w, %x1_1 : !real
      %x1_3 = arith.divf %x1_2, %d : !real
      %x1 = arith.addf %x, %x1_3 : !real
      foreach.yield %x1 : !real
    }
    %change = foreach.reduce max along i (%x = %x, %x1 = %x1 : !vecs) -> !each {
      // change = abs(x1 - x)
      %change_1 = arith.subf %x1, %x : !real
      %change = math.absf %change_1 : !real
      foreach.yield %change : !real
    }
    %more = foreach.map (%change = %change : !each, %tol = %tol as !real : !num) -> !flags {
      %more = arith.cmpf ogt, %change, %tol : !real
      foreach.yield %more : i1
    }
    foreach.yield %x1, %change while %more : !vecs, !each while !flags
  }
  return %x, %change, %iterations : !vecs, !each, !counts
}

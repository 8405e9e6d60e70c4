// Jacobi's iteration for A x = b, with the diagonal of A as a vector; the largest change stops it.
//
//   x = x + w (b - A x) / d

!vecs = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>
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
    %zero = arith.constant 0.0 : f32
    foreach.yield %zero : f32
  }
  %x, %change, %iterations = foreach.while (%x = %zero : !vecs) upto %limit -> (!vecs, !each, !counts) {
    %ax = foreach.reduce add along j (%a = %A[i, j] : !mats, %x = %x[j] : !vecs) -> !vecs {
      %ax = arith.mulf %a, %x : f32
      foreach.yield %ax : f32
    }
    %x1 = foreach.map (
        %x = %x, %ax = %ax, %b = %b, %d = %diagonal : !vecs, %w = %weight as f32 : !num) -> !vecs {
      // x1 = x + w * (b - ax) / d
      %x1_1 = arith.subf %b, %ax : f32
      %x1_2 = arith.mulf %w, %x1_1 : f32
      %x1_3 = arith.divf %x1_2, %d : f32
      %x1 = arith.addf %x, %x1_3 : f32
      foreach.yield %x1 : f32
    }
    %change = foreach.reduce max along i (%x = %x, %x1 = %x1 : !vecs) -> !each {
      // change = abs(x1 - x)
      %change_1 = arith.subf %x1, %x : f32
      %change = math.absf %change_1 : f32
      foreach.yield %change : f32
    }
    %more = foreach.map (%change = %change : !each, %tol = %tol as f32 : !num) -> !flags {
      %more = arith.cmpf ogt, %change, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %change while %more : !vecs, !each while !flags
  }
  return %x, %change, %iterations : !vecs, !each, !counts
}

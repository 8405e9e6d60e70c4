// The cube root of every element by Newton's method, until no element of the tensor moves by more than tol of it.
//
//   y = (2 y + |x| / y^2) / 3

!element = f32 // of the vectors
!real    = f32 // of the arithmetic
!vecs = !foreach.list<tensor<?x!element>>
!each = !foreach.list<tensor<!real>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @newton_root(
    %x: !vecs,
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 40 : i32}) -> (!vecs, !counts) {
  %start = foreach.map (%x = %x as !real : !vecs) -> !vecs {
    // start = max(abs(x), 1.0)
    %start_1 = math.absf %x : !real
    %one = arith.constant 1.0 : !real
    %start = arith.maximumf %start_1, %one : !real
    foreach.yield %start : !real
  }
  %y, %iterations = foreach.while (%y = %start : !vecs) upto %limit -> (!vecs, !counts) {
    %y1 = foreach.map (%y = %y as !real, %x = %x as !real : !vecs) -> !vecs {
      // y1 = (2 * y + abs(x) / (y * y)) / 3
      %two = arith.constant 2.0 : !real
      %y1_1 = arith.mulf %two, %y : !real
      %y1_2 = math.absf %x : !real
      %y1_3 = arith.mulf %y, %y : !real
      %y1_4 = arith.divf %y1_2, %y1_3 : !real
      %y1_5 = arith.addf %y1_1, %y1_4 : !real
      %three = arith.constant 3.0 : !real
      %y1 = arith.divf %y1_5, %three : !real
      foreach.yield %y1 : !real
    }
    %change = foreach.reduce max along member (%y = %y as !real, %y1 = %y1 as !real : !vecs) -> !each {
      // change = abs(y1 - y) / y1
      %change_1 = arith.subf %y1, %y : !real
      %change_2 = math.absf %change_1 : !real
      %change = arith.divf %change_2, %y1 : !real
      foreach.yield %change : !real
    }
    %more = foreach.map (%change = %change : !each, %tol = %tol as !real : !num) -> !flags {
      %more = arith.cmpf ogt, %change, %tol : !real
      foreach.yield %more : i1
    }
    foreach.yield %y1 while %more : !vecs while !flags
  }
  %root = foreach.map (%y = %y as !real, %x = %x as !real : !vecs) -> !vecs {
    // root = sign(x) * y
    %root_1 = foreach.sign %x : !real
    %root = arith.mulf %root_1, %y : !real
    foreach.yield %root : !real
  }
  return %root, %iterations : !vecs, !counts
}

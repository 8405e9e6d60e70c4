// The cube root of every element by Newton's method, until no element of the tensor moves by more than tol of it.
//
//   y = (2 y + |x| / y^2) / 3

!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
!num = tensor<f64>

func.func @newton_root(
    %x: !vecs,
    %tol: !num {foreach.default = 1.0e-5 : f64},
    %limit: tensor<i32> {foreach.default = 40 : i32}) -> (!vecs, !counts) {
  %start = foreach.map (%x = %x : !vecs) -> !vecs {
    // start = max(abs(x), 1.0)
    %start_1 = math.absf %x : f32
    %one = arith.constant 1.0 : f32
    %start = arith.maximumf %start_1, %one : f32
    foreach.yield %start : f32
  }
  %y, %iterations = foreach.while (%y = %start : !vecs) upto %limit -> (!vecs, !counts) {
    %y1 = foreach.map (%y = %y, %x = %x : !vecs) -> !vecs {
      // y1 = (2 * y + abs(x) / (y * y)) / 3
      %two = arith.constant 2.0 : f32
      %y1_1 = arith.mulf %two, %y : f32
      %y1_2 = math.absf %x : f32
      %y1_3 = arith.mulf %y, %y : f32
      %y1_4 = arith.divf %y1_2, %y1_3 : f32
      %y1_5 = arith.addf %y1_1, %y1_4 : f32
      %three = arith.constant 3.0 : f32
      %y1 = arith.divf %y1_5, %three : f32
      foreach.yield %y1 : f32
    }
    %change = foreach.reduce max along member (%y = %y, %y1 = %y1 : !vecs) -> !each {
      // change = abs(y1 - y) / y1
      %change_1 = arith.subf %y1, %y : f32
      %change_2 = math.absf %change_1 : f32
      %change = arith.divf %change_2, %y1 : f32
      foreach.yield %change : f32
    }
    %more = foreach.map (%change = %change : !each, %tol = %tol as f32 : !num) -> !flags {
      %more = arith.cmpf ogt, %change, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %y1 while %more : !vecs while !flags
  }
  %root = foreach.map (%y = %y, %x = %x : !vecs) -> !vecs {
    // root = sign(x) * y
    %root_1 = foreach.sign %x : f32
    %root = arith.mulf %root_1, %y : f32
    foreach.yield %root : f32
  }
  return %root, %iterations : !vecs, !counts
}

// Operands without use are bound to an axis, so they have its extent; the compiled program does not read them.
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @unused_operands(%x: !mats, %row: !list, %col: !list, %flag: tensor<i1>) -> (!mats, !list, !list) {
  // A value of a branch, and the column that it would add, have no use.
  %y, %unused = foreach.if %flag -> (!mats, !list) {
    %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list) -> !mats {
      %two = arith.constant 2.0 : f32
      %y = arith.mulf %x, %two : f32
      foreach.yield %y : f32
    }
    %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %c = %col[j] : !list) -> !list {
      %y = arith.mulf %x, %c : f32
      foreach.yield %y : f32
    }
    foreach.yield %y, %sum : !mats, !list
  } else (%x, %row)
  // Alone, they are vectors of any length.
  %r1 = foreach.map (%r = %row : !list) -> !list {
    %y = arith.addf %r, %r : f32
    foreach.yield %y : f32
  }
  %c1 = foreach.map (%c = %col : !list) -> !list {
    %y = arith.mulf %c, %c : f32
    foreach.yield %y : f32
  }
  return %y, %r1, %c1 : !mats, !list, !list
}

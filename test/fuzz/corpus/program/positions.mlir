!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
func.func @positions(%x: !mats {foreach.donate = 0 : i64}, %row: !list) -> (!mats, !list) {
  %r = foreach.map (%w = %row : !list) -> !list {
    %i = foreach.index i : i64
    %n = foreach.extent member : i64
    %rest = arith.subi %n, %i : i64
    %f = arith.sitofp %rest : i64 to f32
    %r = arith.mulf %w, %f : f32
    foreach.yield %r : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %r[i] : !list) -> !mats {
    %k = foreach.index member : i64
    %kf = arith.sitofp %k : i64 to f32
    %a = arith.addf %x, %r : f32
    %y = arith.mulf %a, %kf : f32
    foreach.yield %y : f32
  }
  return %y, %r : !mats, !list
}

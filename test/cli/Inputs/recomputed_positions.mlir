// Maps over matrices compute the positions and extents of rows and columns
// again that maps over vectors have computed.
!rows = !foreach.list<tensor<?xf32>>
!columns = !foreach.list<tensor<?xf32>>
!matrices = !foreach.list<tensor<?x?xf32>>
!flags = !foreach.list<tensor<?xi8>>
!numbers = !foreach.list<tensor<?xi64>>
!matrix_of_numbers = !foreach.list<tensor<?x?xi64>>

func.func @recomputed_positions(%x: !rows, %y: !columns, %m: !matrices, %seed: tensor<i64> {foreach.default = 7 : i64}) -> (!flags, !flags, !matrix_of_numbers, !matrix_of_numbers, !numbers, !numbers) {
  %f, %p, %n, %r = foreach.map (%x = %x : !rows, %s = %seed : tensor<i64>) -> (!flags, !numbers, !numbers, !foreach.list<tensor<?xi32>>) {
    %one = arith.constant 1 : i8
    %p = foreach.index i : i64
    %n = foreach.extent member : i64
    %at = foreach.index member : i64
    %zero = arith.constant 0 : i64
    %r = foreach.random seed %s stream %zero block %zero at %at : i32
    foreach.yield %one, %p, %n, %r : i8, i64, i64, i32
  }
  %g, %q, %o = foreach.map (%y = %y : !columns) -> (!flags, !numbers, !numbers) {
    %two = arith.constant 2 : i8
    %q = foreach.index member : i64
    %o = foreach.extent i : i64
    foreach.yield %two, %q, %o : i8, i64, i64
  }
  %a = foreach.map (%p = %p[i] : !numbers, %q = %q[j] : !numbers, %m = %m[i, j] : !matrices) -> !matrix_of_numbers {
    %k = arith.constant 1000 : i64
    %t = arith.muli %p, %k : i64
    %u = arith.addi %t, %q : i64
    foreach.yield %u : i64
  }
  %b = foreach.map (%n = %n[i] : !numbers, %o = %o[j] : !numbers, %r = %r[i] : !foreach.list<tensor<?xi32>>, %m = %m[i, j] : !matrices) -> !matrix_of_numbers {
    %k = arith.constant 1000 : i64
    %t = arith.muli %n, %k : i64
    %u = arith.addi %t, %o : i64
    %e = arith.extsi %r : i32 to i64
    %v = arith.xori %u, %e : i64
    foreach.yield %v : i64
  }
  %c = foreach.reduce add along j (%p = %p[i] : !numbers, %m = %m[i, j] : !matrices) -> !numbers {
    %t = arith.fptosi %m : f32 to i64
    %u = arith.addi %p, %t : i64
    foreach.yield %u : i64
  }
  %d = foreach.reduce add along i (%q = %q[j] : !numbers, %m = %m[i, j] : !matrices) -> !numbers {
    %t = arith.fptosi %m : f32 to i64
    %u = arith.addi %q, %t : i64
    foreach.yield %u : i64
  }
  return %f, %g, %a, %b, %c, %d : !flags, !flags, !matrix_of_numbers, !matrix_of_numbers, !numbers, !numbers
}

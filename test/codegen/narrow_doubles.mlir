// A thread has each narrow row. It accesses both columns of a row of two doubles as a vector, and
// loads fewer rows at a time if it maps doubles, whose results take registers, too.
// RUN: split-file %s %t
// RUN: %heddle emit %t/map.mlir | FileCheck %s --check-prefixes=CHECK,MAP
// RUN: %heddle emit %t/sums.mlir | FileCheck %s --check-prefixes=CHECK,SUMS
// RUN: sed s/f64/f32/g %t/map.mlir | %heddle emit - | FileCheck %s --check-prefix=FLOATS

// MAP:         rows_at_once = Items == 1 ? 8 : Items <= 4 ? 2 : 1;
// SUMS:        rows_at_once = Items == 1 ? 8 : Items <= 4 ? 4 :
// CHECK:       else if (tile.columns == 3)
// CHECK-NEXT:    {{.*}}_held<false, 3, 3, 0>(
// CHECK:       else if (tile.columns == 4)
// CHECK-NEXT:    {{.*}}_held<true, 4, 4, 0>(
// CHECK:       else if (tile.columns <= 2)
// CHECK-NEXT:    {{.*}}_held<true, 2, 0, 0>(

// FLOATS:      rows_at_once = Items == 1 ? 8 : Items <= 4 ? 4 :
// FLOATS:      else if (tile.columns <= 2)
// FLOATS-NEXT:   {{.*}}_held<{{(false, )?}}false, 2, 0, 0>(

//--- map.mlir
!mats = !foreach.list<tensor<?x?xf64>>
!vecs = !foreach.list<tensor<?xf64>>
func.func @share(%x: !mats) -> !mats {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    %e = math.exp %x : f64
    foreach.yield %e : f64
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %s = %sum[i] : !vecs) -> !mats {
    %e = math.exp %x : f64
    %y = arith.divf %e, %s : f64
    foreach.yield %y : f64
  }
  return %y : !mats
}

//--- sums.mlir
!mats = !foreach.list<tensor<?x?xf64>>
!vecs = !foreach.list<tensor<?xf64>>
func.func @sums(%x: !mats) -> !vecs {
  %s = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f64
  }
  return %s : !vecs
}

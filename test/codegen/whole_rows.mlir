// Every step replaces a scalar from which elements are computed, and a late block
// would read the new value. So blocks share no rows, and expensive functions of the
// scalar are precomputed.
// RUN: %heddle emit %s --stage fused | FileCheck %s --check-prefix=FUSED
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle explain %s | FileCheck %s --check-prefix=EXPLAIN

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// FUSED: tile = [1], reason
// CHECK: //   1 row, 8 bytes per element
// CHECK: params.precomputed[tile.member]
// CHECK-NOT: block_of_tile
// CHECK-NOT: blocks_per_tile
// PLAN: "tables"
// PLAN-NOT: block_columns
// EXPLAIN: schedule: rows, 256 threads, tiles of 1 row, more of up to 2048 columns{{$}}
// EXPLAIN-NEXT: reason:   rows are complete while they are on chip
func.func @changes(%x: !mats, %row: !list, %t: !each {foreach.donate = 1 : i64}) -> (!mats, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i] : !list, %t = %t : !each) -> !mats {
    %e = math.exp %t : f32
    %a = arith.mulf %x, %e : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list) -> !each {
    foreach.yield %r : f32
  }
  %next = foreach.map (%t = %t, %m = %most : !each) -> !each {
    %n = arith.addf %t, %m : f32
    foreach.yield %n : f32
  }
  return %y, %next : !mats, !each
}

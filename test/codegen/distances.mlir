// Entries that take distances: how far the lists that the program only reads have
// moved. Only elements have distances, and only in sweeps outside of loops.
// RUN: %heddle emit %s --stage plan > %t
// RUN: %python %S/Inputs/plan.py < %t | FileCheck %s --check-prefix=PLAN
// RUN: %heddle emit %s | FileCheck %s

// Slot 1 is of `c` or `a`, slot 2 of `b`.
// PLAN: both: both_distances address when min_elements, distances 1 2{{$}}

// CHECK:      struct alignas(16) both_tile_0 {
// CHECK-NEXT:   heddle::bf16 *y;
// CHECK-NEXT:   const heddle::bf16 *c;
// CHECK-NEXT:   void *unused[1];
// CHECK:      struct alignas(16) both_tile_1 {
// CHECK-NEXT:   float *x;
// CHECK-NEXT:   const float *a;
// CHECK-NEXT:   const float *b;
// CHECK:      distances_block(
// CHECK:      {{^ *}}auto tile = heddle::descriptor_at<both_tile>(params.table.tiles, tile_index);
// CHECK-NEXT: heddle::move_operand<1, 0>(tile, distances);
// CHECK-NEXT: heddle::move_operand<2, 1>(tile, distances);
// CHECK:      const __grid_constant__ heddle::distances<2> distances) {
!list = !foreach.list<tensor<?xf32>>
!half = !foreach.list<tensor<?xbf16>>
func.func @both(%x: !list {foreach.donate = 0 : i64}, %a: !list, %b: !list,
    %y: !half {foreach.donate = 1 : i64}, %c: !half) -> (!list, !half, tensor<f64>) {
  %x1 = foreach.map (%x = %x, %a = %a, %b = %b : !list) -> !list {
    %1 = arith.addf %x, %a : f32
    %2 = arith.mulf %1, %b : f32
    foreach.yield %2 : f32
  }
  %y1 = foreach.map (%y = %y as f32, %c = %c as f32 : !half) -> !half {
    %1 = arith.addf %y, %c : f32
    foreach.yield %1 : f32
  }
  %s = foreach.reduce add along list (%a = %a as f64 : !list) -> tensor<f64> {
    foreach.yield %a : f64
  }
  return %x1, %y1, %s : !list, !half, tensor<f64>
}

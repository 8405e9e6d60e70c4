// An entry has parts of wide rows alone, whose states blocks exchange through memory. A plan
// takes it if all rows have several parts.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: echo '{"wide": [[4, 8193], [2, 1048576]], "mixed": [[4, 8193], [2, 8192]]}' > %t.json
// RUN: %heddle explain %s --shapes %t.json:wide --json | FileCheck %s --check-prefix=WIDE
// RUN: %heddle explain %s --shapes %t.json:mixed --json | FileCheck %s --check-prefix=MIXED

// CHECK:      softmax_process(
// CHECK:        if constexpr (Held == 1048576) {
// CHECK-NEXT:     softmax_held<false, 16, 0, 0>(
// CHECK-NEXT:   } else if (tile.columns == 1)
// CHECK:      softmax_block(
// CHECK:        if ((!Held || Held == 1048576) && params.table.blocks_per_tile > 1) {
//             All blocks of a row must fit on the device.
// CHECK:      extern "C" __global__ void __launch_bounds__(256, HEDDLE_WANTED_BLOCKS(4))
// CHECK-NEXT: softmax_row_parts(
// CHECK:        softmax_block<1048576>(params);
// CHECK:      softmax_tiles(
// CHECK:        softmax_block<0>(params);

// PLAN:      "cluster": false,
// PLAN-NEXT: "entry": "softmax_row_parts",
// PLAN-NEXT: "grid": "tiles",
// PLAN-NEXT: "when": {
// PLAN-NEXT:   "max_parts": 256
// PLAN-NEXT: }
// PLAN:      "entry": "softmax_tiles",

// WIDE:      "entry": "softmax_row_parts",
// MIXED:     "entry": "softmax_tiles",

!mats = !foreach.list<tensor<?x?xf64>>
!vecs = !foreach.list<tensor<?xf64>>
func.func @softmax(%x: !mats) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f64
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f64
    %e = math.exp %d : f64
    foreach.yield %e : f64
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f64
    %e = math.exp %d : f64
    %y = arith.divf %e, %s : f64
    foreach.yield %y : f64
  }
  return %y : !mats
}

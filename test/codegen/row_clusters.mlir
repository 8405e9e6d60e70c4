// The blocks of a wide row are a cluster if the row has at most 16 parts.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// CHECK:      template <bool Clusters, int Items, int Sure, int Lanes>
// CHECK:      softmax_held(
// CHECK:        heddle::row_parts<Clusters> parts(tile.columns, 16384, params.table.blocks_per_tile, part_of_tile,
// CHECK:        sum_of_row = heddle::over_parts<heddle::add<float>, 256>(sum_of_row, params.sum_of_parts, parts, tile_index);
// No part of at most 16 is short, so half of its columns are not compared.
// CHECK:      softmax_process(
// CHECK:        else if (heddle::holds_parts(params.table, tile.columns, 16384, 32))
// CHECK-NEXT:     softmax_held<Clusters, 32, Clusters ? 15 : 0, 0>(
// CHECK:      softmax_block(
// CHECK:        if (!Held && params.table.blocks_per_tile > 1) {
// CHECK-NEXT:     const int before = heddle::blocks_started<Clusters>(params.started_blocks);
// CHECK:      softmax_held_rows_16384(
// CHECK:      extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(4))
// CHECK-NEXT: softmax_row_clusters(
// CHECK:        softmax_block<true, 0>(params);
// CHECK:      softmax_tiles(
// CHECK:        softmax_block<false, 0>(params);

// PLAN:      "entry": "softmax_row_clusters",
// PLAN-NEXT: "grid": "tiles",
// PLAN-NEXT: "when": {
// PLAN-NEXT:   "max_parts": 16

!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @softmax(%x: !mats) -> !mats {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !vecs) -> !vecs {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !vecs) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %y = arith.divf %e, %s : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}

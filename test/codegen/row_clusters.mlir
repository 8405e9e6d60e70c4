// The blocks of a wide row are a cluster if the row has at most 16 parts. Wider rows have
// longer parts, of which a block holds some columns in shared memory.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// CHECK:      template <bool Clusters, bool Adjacent, int Items, int Sure, int Lanes>
// CHECK:      softmax_held(
// CHECK:        heddle::row_parts<Clusters> parts(tile.columns, 16384, params.table.blocks_per_tile, part_of_tile,
// CHECK-NEXT:       (Sure >= Items / 2 && Items != 80) || Items <= 8, true);
// CHECK:        heddle::held_elements<float, Items, 256, 80, 36> x[rows_at_once];
//               An exponential takes the place of its element.
// CHECK:          x[r][k] = expf(d);
// CHECK:        sum_of_row = heddle::over_parts<heddle::add<float>, 256>(sum_of_row, params.sum_of_parts, parts, tile_index);
// All rows of the entry for clusters have parts. No part of at most 16 is short, so half of
// its columns are not compared.
// CHECK:      softmax_process(
// CHECK:        if (part_of_tile > 0 && part_of_tile >= heddle::parts_of_row(tile.columns, 16384, true))
// CHECK:        const bool adjacent = heddle::has_adjacent(tile.columns) && tile.columns <= 16384;
// CHECK-NEXT:   if constexpr (Clusters) {
// CHECK-NEXT:     softmax_held<Clusters, false, 32, 15, 0>(
// CHECK-NEXT:   } else if (tile.columns == 1)
// CHECK:        else if (Held != 20480 && (Held == 8192 || tile.columns <= 8192))
// CHECK:        else if (Held == 20480 && tile.columns > 131072 && heddle::holds_parts(params.table, tile.columns, 16384, 80, true))
// CHECK-NEXT:     softmax_held<false, false, 80, 65, 0>(
// CHECK-NEXT:   else if (Held != 20480 && heddle::holds_parts(params.table, tile.columns, 16384, 32, true))
// CHECK-NEXT:     softmax_held<false, false, 32, 0, 0>(
// CHECK:      softmax_block(
// CHECK:        if ((!Held || Held == 20480) && params.table.blocks_per_tile > 1) {
// CHECK-NEXT:     const int before = heddle::blocks_started<Clusters>(params.started_blocks);
// CHECK:      softmax_held_rows_16384(
//             All blocks of a row must fit on the device.
// CHECK:      extern "C" __global__ void __launch_bounds__(256, HEDDLE_WANTED_BLOCKS(3))
// CHECK-NEXT: softmax_long_parts(
// CHECK:        softmax_block<false, 20480>(params);
// CHECK:      extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(4))
// CHECK-NEXT: softmax_row_clusters(
// CHECK:        softmax_block<true, 0>(params);
// CHECK:      softmax_tiles(
// CHECK:        softmax_block<false, 0>(params);

// PLAN:      "entry": "softmax_long_parts",
// PLAN-NEXT: "grid": "tiles",
// PLAN-NEXT: "when": {
// PLAN-NEXT:   "mostly_over": 131072
// PLAN:      "cluster": true,
// PLAN-NEXT: "entry": "softmax_row_clusters",
// PLAN-NEXT: "grid": "tiles",
// PLAN-NEXT: "when": {
// PLAN-NEXT:   "max_parts": 16
// PLAN:      "long_parts": true

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

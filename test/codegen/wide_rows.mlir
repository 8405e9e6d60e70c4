// Wide rows have parts: one block takes all parts of a row, or one of several blocks each.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// CHECK:      wide_walk(
// CHECK-NEXT:   heddle::row_parts parts(tile.columns, params.table.blocks_per_tile, part_of_tile);
// CHECK:        for (int part = parts.first; part < parts.count; part += parts.step) {
// CHECK-NEXT:     const long long end_of_part = parts.end(part);
// CHECK:          prefetch(parts.begin(part) + threadIdx.x);
// CHECK:          sum_part = heddle::over_block<heddle::add<float>, 256>(sum_part);
// CHECK-NEXT:     sum_of_row = part == parts.first ? sum_part : heddle::add<float>::combine(sum_of_row, sum_part);
// Blocks exchange the states of their parts.
// CHECK:        if (params.table.blocks_per_tile > 1) {
// CHECK:            params.sum_of_parts[place + part_of_tile] = sum_part;
// CHECK:          heddle::barrier_of_blocks(
// CHECK-NEXT:     sum_part = heddle::over_parts<heddle::add<float>>(params.sum_of_parts + place, parts.count);
// CHECK:        if (threadIdx.x == 0 && part_of_tile == 0)
// CHECK-NEXT:     tile.sum[row] = sum;
// CHECK:      wide_process(
// CHECK:        if (part_of_tile > 0 && part_of_tile >= heddle::parts_of_row(tile.columns))
// CHECK-NEXT:     return;
// CHECK:      wide_block(
// CHECK-NEXT:   const int started = heddle::blocks_started(params.table, params.started_blocks);

// PLAN-DAG: "row_parts": true
// PLAN-DAG: "per": "tile_block"

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @wide(%x: !mats) -> !list {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %sum : !list
}

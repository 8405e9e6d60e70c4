// Wide rows have parts: one block takes all parts of a row, or one of several blocks each.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// Threads hold a part of a row.
// CHECK:      wide_held(
// CHECK:        heddle::row_parts parts(tile.columns, 16384, params.table.blocks_per_tile, part_of_tile,
// CHECK-NEXT:       Sure >= Items / 2 || Items <= 8);
// CHECK-NEXT:   heddle::begin_exchanges<float>(parts, params.sum_of_parts, tile_index);
// CHECK-NEXT:   heddle::row_group<256, Items, Sure, Lanes, Adjacent> group(parts);
// CHECK:            float sum_of_row = heddle::over_row<heddle::add<float>, 256>(sum_part, group);
// CHECK-NEXT:       if (parts.is_divided()) {
// CHECK-NEXT:         sum_of_row = heddle::over_parts<heddle::add<float>, 256>(sum_of_row, params.sum_of_parts, parts, tile_index,
// CHECK-NEXT:             tile.count > 1);
// CHECK:            if (there && group.lane == 0 && part_of_tile == 0) {
// CHECK-NEXT:         tile.sum[row] = sum;
// CHECK:            parts.next_row();
// Threads traverse the parts.
// CHECK:      wide_walk(
// CHECK-NEXT:   heddle::row_parts parts(tile.columns, 16384, params.table.blocks_per_tile, part_of_tile);
// CHECK-NEXT:   heddle::begin_exchanges<float>(parts, params.sum_of_parts, tile_index);
// CHECK:        for (int part = parts.first; part < parts.count; part += parts.step) {
// CHECK:          const heddle::walked_columns<256, 8, Adjacent> columns(parts.begin(part), parts.end(part));
// CHECK:          prefetch(0);
// CHECK:          sum_part = heddle::over_block<heddle::add<float>, 256>(sum_part);
// CHECK-NEXT:     if (threadIdx.x == part)
// CHECK-NEXT:       sum_of_row = sum_part;
// CHECK:        if (parts.has_several())
// CHECK-NEXT:     sum_part = heddle::over_block<heddle::add<float>, 256>(sum_of_row);
// Blocks exchange the states of their parts.
// CHECK:        if (parts.is_divided()) {
// CHECK-NEXT:     sum_part = heddle::over_parts<heddle::add<float>, 256>(sum_part, params.sum_of_parts, parts, tile_index,
// CHECK-NEXT:         tile.count > 1);
// CHECK:        if (threadIdx.x == 0 && part_of_tile == 0)
// CHECK-NEXT:     tile.sum[row] = sum;
// CHECK:      wide_process(
// CHECK:        if (part_of_tile > 0 && part_of_tile >= heddle::parts_of_row(tile.columns, 16384))
// CHECK-NEXT:     return;
// CHECK:        else if (Held == 4096 || tile.columns <= 4096)
// CHECK-NEXT:     wide_held<false, 16, 8, 0>(
//               One block holds a whole row of up to 16384 columns, 64 for each thread.
// CHECK:        else if (Held == 8192 || tile.columns <= 8192)
// CHECK-NEXT:     wide_held<false, 32, 16, 0>(
// CHECK:        else if (Held == 16384)
// CHECK-NEXT:     wide_held<false, 64, 32, 0>(
//               The order of a row's columns is the same in its parts.
// CHECK-NEXT:   else if (adjacent && heddle::holds_parts(params.table, tile.columns, 16384, 32))
// CHECK-NEXT:     wide_held<true, 32, 0, 0>(
// CHECK-NEXT:   else if (heddle::holds_parts(params.table, tile.columns, 16384, 32))
// CHECK-NEXT:     wide_held<false, 32, 0, 0>(
// CHECK:      wide_block(
// CHECK:        if ((!Held || Held == 1048576) && params.table.blocks_per_tile > 1) {
// CHECK-NEXT:     const int before = heddle::blocks_started(params.started_blocks);
// CHECK:      wide_held_rows_8192(
// CHECK:        wide_block<8192>(params);
// CHECK:      wide_held_rows_16384(
// CHECK:        wide_block<16384>(params);

// PLAN-DAG: "held_parts": true
// PLAN-DAG: "row_parts": true
// PLAN-DAG: "whole_columns": 16384
// PLAN-DAG: "widest_first": true
// PLAN-DAG: "mostly_over": 8192
// PLAN-DAG: "per": "tile_block"

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @wide(%x: !mats) -> !list {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    %e = math.exp %x : f32
    foreach.yield %e : f32
  }
  return %sum : !list
}

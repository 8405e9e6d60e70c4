// Columns without row values: a thread goes down some of the columns, loads a
// row while it processes the previous row, and keeps the states of the columns
// in registers.
// RUN: split-file %s %t
// RUN: %heddle emit %t/down.mlir | FileCheck %s
// RUN: %heddle emit %t/beside.mlir | FileCheck %s --check-prefix=BESIDE

// CHECK:      down_walk(
// Blocks divide the columns of a tile.
// CHECK:        const heddle::column_ranges<2048> ranges(params.table, heddle::block_of_tile(params.table, tile_index));
// CHECK-NEXT:   for (long long nth = threadIdx.x, first_column; (first_column = ranges.column(nth)) < tile.columns; nth += 1024) {
// CHECK-DAG:      float next_x{{.*}}[4];
// CHECK-DAG:      float column_down[4];
// CHECK-DAG:      heddle::log_sum<float> mass_down[4];
// Column values are read once.
// CHECK:            v{{.*}} = column < tile.columns ? tile.shift[column] : 0;
// CHECK:          const auto prefetch = [&](long long row) {
// CHECK:              const bool there = row < tile.count && column < tile.columns;
// CHECK:          prefetch(0);
// CHECK-NEXT:     for (long long row = 0; row < tile.count; ++row) {
// CHECK:            prefetch(row + 1);
// CHECK-NEXT:       heddle::keep_order();
// CHECK:              column_down[{{.*}}] = row == 0 ? heddle::add<float>::lift({{.*}})
// CHECK-NEXT:           : heddle::add<float>::combine(column_down[
// CHECK:            params.mass_of_columns[tile.column_base + column] = mass_down[
// Each block combines and completes its columns.
// CHECK:      down_combine(
// CHECK:        arrives_last(&params.column_tickets[(tile_index - own + group.first + step)
// CHECK-NEXT:       * params.table.blocks_per_tile + heddle::block_of_tile(params.table, tile_index)], group.count))
// CHECK:        (column = ranges.column(nth)) < tile.columns; nth += 256) {
// CHECK:      down_end(
// CHECK:        (column = ranges.column(nth)) < tile.columns; nth += 256) {
// CHECK:      down_process(
// CHECK:        if (heddle::block_of_tile(params.table, tile_index) > 0
// CHECK-NEXT:       && 2048LL * heddle::block_of_tile(params.table, tile_index) >= tile.columns)
// CHECK-NEXT:     return;
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(3))
// Rows with results are processed one after the other, with other launch bounds.
// BESIDE:      void beside_walk(
// BESIDE-NOT:    _down
// BESIDE:      __launch_bounds__(256, HEDDLE_BLOCKS(4))

//--- down.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @down(%x: !mats, %weight: !list, %shift: !list) -> (!list, !list) {
  %column = foreach.reduce add along i (%x = %x[i, j] : !mats, %w = %weight[i], %v = %shift[j] : !list) -> !list {
    %y = arith.mulf %x, %w : f32
    %z = arith.addf %y, %v : f32
    foreach.yield %z : f32
  }
  %mass = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %column, %mass : !list, !list
}

//--- beside.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @beside(%x: !mats) -> (!mats, !list) {
  %y = foreach.map (%x = %x : !mats) -> !mats {
    %y = arith.addf %x, %x : f32
    foreach.yield %y : f32
  }
  %s = foreach.reduce add along i (%y = %y[i, j] : !mats) -> !list {
    foreach.yield %y : f32
  }
  return %y, %s : !mats, !list
}

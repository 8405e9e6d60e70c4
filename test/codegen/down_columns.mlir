// Columns without row values: a thread goes down some of the columns, loads
// several rows at a time, and keeps the states of the columns in registers.
// RUN: split-file %s %t
// RUN: %heddle emit %t/down.mlir | FileCheck %s
// RUN: %heddle emit %t/down.mlir --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle emit %t/beside.mlir | FileCheck %s --check-prefix=BESIDE
// RUN: %heddle emit %t/total.mlir | FileCheck %s --check-prefix=TOTAL
// RUN: %heddle emit %t/doubles.mlir | FileCheck %s --check-prefix=DOUBLES
// RUN: %heddle emit %t/distances.mlir | FileCheck %s --check-prefix=DISTANCES

// CHECK:      down_walk(
// CHECK:        constexpr int items = 2, rows_at_once = 8;
// Blocks divide the columns of a tile, but not those of held rows.
// CHECK-NEXT:   const heddle::column_ranges<1024> ranges(params.table, heddle::block_of_tile(params.table, tile_index),
// CHECK-NEXT:       tile.columns <= 2048);
// CHECK-NEXT:   for (long long nth = 0, first_column; (first_column = ranges.column(nth)) < tile.columns; nth += 512) {
// CHECK-NEXT:     const auto group = heddle::group_of_block<256, items>(tile.columns - first_column);
// CHECK:          float column_down[items];
// CHECK-NEXT:     heddle::log_sum<float> mass_down[items];
// Column values are read once.
// CHECK:            const int column = group.column(k);
// CHECK-NEXT:       v[k] = group.has(k, group.present) ? tile.shift[first_column + column] : 0;
// CHECK-NEXT:       column_down[k] = heddle::add<float>::neutral();
// Tiles of large members are tall: their units are combined as tiles are.
// CHECK:          heddle::units_of_tile<heddle::add<float>, items, 4, 256, 0, 24> column_units;
// CHECK-NEXT:     heddle::units_of_tile<heddle::logsumexp<float>, items, 4, 256, 8, 24> mass_units;
// CHECK-NEXT:     for (int first_row = 0; first_row < tile.count; first_row += rows_at_once) {
// CHECK-NEXT:       float x[rows_at_once][items];
// CHECK-NEXT:       float w[rows_at_once];
// CHECK:              const int row = wanted < tile.count ? wanted : 0;
// CHECK-NEXT:         auto *const x_row = heddle::in_global(tile.x + row * tile.x_stride + first_column);
// CHECK:              w[r] = tile.weight[row];
// CHECK:                x[r][k] = group.has(k, present) ? x_row[column] : 0;
// CHECK:            heddle::keep_order();
// CHECK:              const bool there = row < tile.count;
// CHECK:                if (there && group.has(k, present)) {
// CHECK-NEXT:             column_down[k] = heddle::add<float>::combine(column_down[k], heddle::add<float>::lift(z, tile.first + row));
// CHECK:            if (tile.count > 16 && ((first_row + rows_at_once) % 16 == 0 || first_row + rows_at_once >= tile.count)) {
// CHECK-NEXT:         column_units.add(column_down);
// CHECK-NEXT:         mass_units.add(mass_down);
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     column_units.combine(column_down);
// CHECK-NEXT:     mass_units.combine(mass_down);
// CHECK:          heddle::store_columns<heddle::logsumexp<float>, 256>(mass_down, group,
// CHECK-NEXT:         params.mass_of_columns + tile.column_base + first_column);
// PLAN: "tall_units": 4
// Each block combines and completes its columns.
// CHECK:      down_combine(
// CHECK:        arrives_last(&params.column_tickets[(tile_index - own + group.first + step)
// CHECK-NEXT:       * params.table.blocks_per_tile + heddle::block_of_tile(params.table, tile_index)], group.count))
// CHECK:        heddle::combine_tiles<heddle::add<float>, 256>(params.column_of_columns + base, tile.columns, step, group.count,
// CHECK-NEXT:       ranges);
// CHECK-NEXT:   heddle::combine_tiles<heddle::logsumexp<float>, 256>(params.mass_of_columns + base, tile.columns, step, group.count,
// CHECK-NEXT:       ranges);
// CHECK:      down_end(
// CHECK:        (first_column = ranges.column(nth)) < tile.columns; nth += 1024) {
// A thread loads the states of four columns before it stores the first value.
// CHECK:            const long long wanted = ranges.column(nth + k * 256), column = wanted < tile.columns ? wanted : first_column;
// CHECK:            column_state[k] = params.column_of_columns[base];
// CHECK-NEXT:       mass_state[k] = params.mass_of_columns[base];
// CHECK:          heddle::keep_order();
// CHECK:            const long long column = ranges.column(nth + k * 256);
// CHECK:            tile.mass[column] = mass;
// CHECK:      down_process(
// CHECK:        if (heddle::block_of_tile(params.table, tile_index) > 0
// CHECK-NEXT:       && (tile.columns <= 2048 || 1024LL * heddle::block_of_tile(params.table, tile_index) >= tile.columns))
// CHECK-NEXT:     return;
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(3))
// Rows with results are processed one after the other, with other launch bounds.
// BESIDE:      void beside_walk(
// BESIDE-NOT:    _down
// BESIDE:      __launch_bounds__(256, HEDDLE_BLOCKS(4))

// The first tile reduces the columns' own values, before threads go down columns. One block has all columns.
// TOTAL:      total_walk(
// TOTAL:        for (long long column = threadIdx.x; tile.first == 0 && column < tile.columns; column += 256) {
// TOTAL-NEXT:     const float w = tile.weight[column];
// TOTAL:        for (long long first_column = 0; first_column < tile.columns; first_column += 1024) {
// TOTAL:            w[k] = group.has(k, group.present) ? tile.weight[first_column + column] : 0;

// A thread loads fewer rows of doubles at a time, not fewer columns.
// DOUBLES:      doubles_walk(
// DOUBLES:        constexpr int items = 4, rows_at_once = 4;
// With an operand of columns, four columns of doubles do not fit.
// DISTANCES:      distances_walk(
// DISTANCES:        constexpr int items = 2, rows_at_once = 8;

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

//--- total.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>

func.func @total(%x: !mats, %weight: !list) -> (!list, !each) {
  %total = foreach.reduce add along member (%w = %weight : !list) -> !each {
    foreach.yield %w : f32
  }
  %column = foreach.reduce add along i (%x = %x[i, j] : !mats, %w = %weight[j] : !list) -> !list {
    %y = arith.mulf %x, %w : f32
    foreach.yield %y : f32
  }
  return %column, %total : !list, !each
}

//--- doubles.mlir
!mats = !foreach.list<tensor<?x?xf64>>
!list = !foreach.list<tensor<?xf64>>

func.func @doubles(%x: !mats) -> !list {
  %s = foreach.reduce add along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f64
  }
  return %s : !list
}

//--- distances.mlir
!mats = !foreach.list<tensor<?x?xf64>>
!list = !foreach.list<tensor<?xf64>>

func.func @distances(%x: !mats, %center: !list) -> !list {
  %s = foreach.reduce add along i (%x = %x[i, j] : !mats, %c = %center[j] : !list) -> !list {
    %d = arith.subf %x, %c : f64
    %d2 = arith.mulf %d, %d : f64
    foreach.yield %d2 : f64
  }
  return %s : !list
}

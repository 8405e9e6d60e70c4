// Rows that threads hold in registers: a group of threads loads a row once, for all
// phases.
// RUN: split-file %s %t
// RUN: %heddle emit %t/softmax.mlir | FileCheck %s
// RUN: %heddle emit %t/softmax.mlir --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle explain %t/softmax.mlir | FileCheck %s --check-prefix=EXPLAIN
// RUN: %heddle emit %t/normalize.mlir | FileCheck %s --check-prefix=DIVIDE

// CHECK:      #include "rows.cuh"
// CHECK:      template <bool Adjacent, int Items, int Sure>
// CHECK:      softmax_held(
// CHECK-NEXT:   heddle::row_group<256, Items, Sure, 0, Adjacent> group(static_cast<int>(tile.columns));
//               Threads that have whole narrow rows load several at a time, and short rows of
//               a sweep that reduces columns in pairs.
// CHECK-NEXT:   constexpr int rows_at_once = Items == 1 ? 8 : Items <= 4 ? 4 : Items == 8 ? 2 : 1;
// CHECK-NEXT:   float column_down[Items];
// CHECK:        for (int first_row = 0; first_row < tile.count; first_row += rows_at_once * group.count) {
// CHECK-NEXT:     float x[rows_at_once][Items];
//                   A group without a row loads the first one again, and stores nothing.
// CHECK:            const int wanted = first_row + r * group.count + group.index;
// CHECK-NEXT:       const int row = Items > 8 || wanted < tile.count ? wanted : 0;
// CHECK-NEXT:       auto *const x_row = heddle::in_global(tile.x + row * tile.x_stride);
// CHECK-NEXT:       const int present = heddle::reread(group.present);
// CHECK-NEXT:       heddle::load_columns<float, Items>(x[r], x_row, group, present);
//                 Elements are loaded once, and exponentials are computed once.
// CHECK-NOT:      tile.x
// CHECK:            const bool there = Items > 8 || row < tile.count;
// CHECK:            most_part = heddle::over_row<heddle::max<float>, 256>(most_part, group);
// CHECK:              e[k] = expf(
// CHECK-NEXT:         if (group.has(k, present_2)) {
// CHECK-NOT:      expf
// CHECK:            sum_part = heddle::over_row<heddle::add<float>, 256>(sum_part, group);
//                   A phase that reduces its elements cannot compute them twice.
// CHECK-NOT:      divisor
// CHECK:            heddle::row_writer<float, decltype(group)> to_y(y_row);
// CHECK:              if (there && group.has(k, present_3)) {
// CHECK-NEXT:           column_down[k] = heddle::add<float>::combine(column_down[k],
// CHECK-NEXT:         }
// CHECK-NEXT:         to_y.write(k, column, y, there && group.has(k, present_3));
// CHECK:        heddle::store_columns<heddle::add<float>, 256>(column_down, group, params.column_of_columns + tile.column_base);
// CHECK:        const int own = tile_index - heddle::first_tile<heddle::member_descriptor<5, 2>>(params.table, tile.member);
// CHECK:      softmax_process(
//               Four adjacent columns are accessed as a vector. Not in parts of rows, because a
//               chain of two reductions is over the row.
// CHECK-NEXT:   const bool adjacent = heddle::has_adjacent(tile.columns) && tile.columns <= 4096;
// CHECK-NEXT:   if (tile.columns == 1)
// CHECK-NEXT:     softmax_held<false, 1, 1>(params, tile);
// CHECK-NEXT:   else if (tile.columns == 3)
// CHECK-NEXT:     softmax_held<false, 3, 3>(params, tile);
// CHECK-NEXT:   else if (tile.columns == 4)
// CHECK-NEXT:     softmax_held<true, 4, 4>(params, tile);
// CHECK-NEXT:   else if (tile.columns <= 2)
// CHECK-NEXT:     softmax_held<false, 2, 0>(params, tile);
// CHECK-NEXT:   else if (adjacent && tile.columns <= 2048)
// CHECK-NEXT:     softmax_held<true, 8, 4>(params, tile);
// CHECK-NEXT:   else if (tile.columns <= 2048)
// CHECK-NEXT:     softmax_held<false, 8, 4>(params, tile);
//               The entry for held rows has no form of wider ones.
// CHECK-NEXT:   else if (adjacent && (Held == 4096 || tile.columns <= 4096))
// CHECK-NEXT:     softmax_held<true, 16, 8>(params, tile);
// CHECK-NEXT:   else if (Held == 4096 || tile.columns <= 4096)
// CHECK-NEXT:     softmax_held<false, 16, 8>(params, tile);
// CHECK-NEXT:   else if (adjacent)
// CHECK-NEXT:     softmax_walk<true>(
// CHECK:      softmax_held_rows(heddle::table table,
// CHECK:        softmax_block<4096>(params);
// CHECK:      softmax_tiles(heddle::table table,
// CHECK:        softmax_block<0>(params);
// PLAN:      "variants": [
// PLAN:          "entry": "softmax_held_rows",
// PLAN:          "when": {
// PLAN-NEXT:       "max_columns": 4096
// PLAN:          "entry": "softmax_tiles",
// PLAN: "held_columns": 2048
// EXPLAIN: schedule: rows, 256 threads, tiles of 16 rows, more of up to 2048 columns

// Divisions by a value of the row share its inverse. Where that may differ, a thread
// divides its elements again.
// A warp that has a row of more than 256 columns has a state for each warp of other entries.
// DIVIDE:      const int row = (Items > 8 && !Lanes) || wanted < tile.count ? wanted : 0;
// DIVIDE:      heddle::chains<heddle::add<float>, Items, Lanes, Adjacent> sum_part;
// DIVIDE:      sum_part[k] = heddle::add<float>::combine(sum_part[k], heddle::add<float>::lift(x[r][k]));
// DIVIDE:      float sum_of_row = heddle::over_row<heddle::add<float>, 256>(sum_part, group);
// DIVIDE:      const float sum = heddle::add<float>::value(sum_of_row);
// DIVIDE-NEXT: heddle::divisor by_sum(sum);
// DIVIDE:        const float y = by_sum.divide(x[r][k], group.has(k, [[PRESENT:present[_0-9]*]]));
// DIVIDE-NEXT:   to_y.write(k, column, y, there && group.has(k, [[PRESENT]]));
// DIVIDE:      if (!by_sum.exact()) {
// DIVIDE:        const float y = x[r][k] / sum;

//--- softmax.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @softmax(%x: !mats) -> (!mats, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !list) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %y = arith.divf %e, %s : f32
    foreach.yield %y : f32
  }
  %column = foreach.reduce add along i (%y = %y[i, j] : !mats) -> !list {
    foreach.yield %y : f32
  }
  return %y, %column : !mats, !list
}

//--- normalize.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @normalize(%x: !mats) -> !mats {
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %y = foreach.map (%x = %x[i, j] : !mats, %s = %sum[i] : !list) -> !mats {
    %y = arith.divf %x, %s : f32
    foreach.yield %y : f32
  }
  return %y : !mats
}

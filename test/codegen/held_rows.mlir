// Rows that threads hold in registers: a group of threads loads a row once, for all
// phases.
// RUN: split-file %s %t
// RUN: %heddle emit %t/softmax.mlir | FileCheck %s
// RUN: %heddle emit %t/softmax.mlir --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle explain %t/softmax.mlir | FileCheck %s --check-prefix=EXPLAIN

// CHECK:      #include "rows.cuh"
// CHECK:      softmax_held(
// CHECK-NEXT:   const heddle::row_group<256> group(static_cast<int>(tile.columns));
// CHECK-NEXT:   float column_down[8];
// CHECK:        for (int first_row = 0; first_row < tile.count; first_row += group.count) {
// CHECK-NEXT:     const int row = first_row + group.index;
// CHECK-NEXT:     const bool there = row < tile.count;
// CHECK:            x[k] = there && column < group.columns ? tile.x[row * tile.x_stride + column] : 0;
//                 Elements are loaded once, and exponentials are computed once.
// CHECK-NOT:      tile.x[
// CHECK:          most_part = heddle::over_row<heddle::max<float>, 256>(most_part, group.lanes);
// CHECK:            e[k] = expf(
// CHECK-NOT:      expf
// CHECK:          sum_part = heddle::over_row<heddle::add<float>, 256>(sum_part, group.lanes);
// CHECK:            column_down[k] = heddle::add<float>::combine(column_down[k],
// CHECK-NEXT:       tile.y[row * tile.y_stride + column] = y;
// CHECK:        heddle::store_columns<heddle::add<float>, 256>(column_down, group, params.column_of_columns + tile.column_base);
// CHECK:      heddle::rows_of_tile(16, 2048, tile.columns)
// CHECK:      softmax_process(
// CHECK-NEXT:   if (tile.columns <= 2048) {
// CHECK-NEXT:     softmax_held(params, tile);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     softmax_walk(
// PLAN: "held_columns": 2048
// EXPLAIN: schedule: rows, 256 threads, tiles of 16 rows, more of up to 2048 columns

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

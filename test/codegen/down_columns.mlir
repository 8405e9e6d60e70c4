// Columns of which no row has anything: a thread goes down some of them, a row
// asked for while the one before is at work, and keeps what it has in registers.
// RUN: %heddle emit %s | FileCheck %s

!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

// CHECK:      down_walk(
// CHECK:        for (long long first_column = threadIdx.x; first_column < tile.columns; first_column += 2048) {
// CHECK-NEXT:     float column_down[8];
// CHECK:            column_down[{{k[_a-z0-9]*}}] = heddle::add<float>::neutral();
// CHECK:          const auto ask = [&](long long row) {
// CHECK:              const bool there = row < tile.count && column < tile.columns;
// CHECK:          ask(0);
// CHECK-NEXT:     for (long long row = 0; row < tile.count; ++row) {
// CHECK:            ask(row + 1);
// CHECK-NEXT:       heddle::keep_order();
// CHECK-NEXT:       const float w = heddle::convert<float>(weight[row]);
// CHECK:              column_down[{{k[_a-z0-9]*}}] = row == 0 ? heddle::add<float>::lift({{.*}}) : heddle::add<float>::combine(column_down[{{k[_a-z0-9]*}}], heddle::add<float>::lift({{.*}}));
// CHECK:            column_of_columns[tile.column_base + column] = column_down[{{k[_a-z0-9]*}}];
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(4))
func.func @down(%x: !mats, %weight: !list) -> !list {
  %column = foreach.reduce add along i (%x = %x[i, j] : !mats, %w = %weight[i] : !list) -> !list {
    %y = arith.mulf %x, %w : f32
    foreach.yield %y : f32
  }
  return %column : !list
}

// Rows, then columns, in one sweep: a block takes rows, columns meet afterwards.
// RUN: %heddle emit %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// CHECK:      // softmax_columns: 1 sweep
// CHECK:      // softmax_columns, rows: a block of 256 threads takes a tile
// CHECK-NEXT: //   16 rows, 8 bytes per element: reads x; writes {{.*}}, column_value
// CHECK:      #include "reduce.cuh"
// CHECK:      softmax_columns_walk(
// CHECK:      for (long long row = 0; row < tile.count; ++row) {
//             first the maximum of the row,
//             of eight columns at a time, the next of which are asked for first,
// CHECK:        float [[NEXT:next_x[_0-9]*]][8];
// CHECK:        const auto [[ASK:ask.*]] = [&](long long first_column
// CHECK:            [[NEXT]][{{k.*}}] = there ? heddle::convert<float>(x[row * x_stride + column]) : 0;
// CHECK:        [[ASK]](threadIdx.x);
// CHECK:        for (long long first_column{{.*}} = threadIdx.x; first_column{{.*}} < tile.columns; first_column{{.*}} += 2048) {
// CHECK:          [[ASK]](first_column{{.*}} + 2048);
// CHECK-NEXT:     heddle::keep_order();
// CHECK:            if (column >= tile.columns)
// CHECK-NEXT:         break;
// CHECK:          most_part = heddle::max<float>::combine(most_part, heddle::max<float>::lift(x{{.*}}, column));
// CHECK:        most_part = heddle::over_block<heddle::max<float>, 256>(most_part);
//             then the sum,
// CHECK:        for (long long first_column
// CHECK:          = expf(
// CHECK:        sum_part = heddle::over_block<heddle::add<float>, 256>(sum_part);
//             then the probabilities, and their part of the columns.
// CHECK:        for (long long first_column
// CHECK:          = expf(
// CHECK:          column_of_columns[tile.column_base + column] =
// CHECK:          p[row * p_stride + column] = p_1;
//             Tiles meet in groups, and groups in groups.
// CHECK:      softmax_columns_meet(
// CHECK:        for (long long step = 1; step < tile.tiles; step *= heddle::tiles_together) {
// CHECK-NEXT:     const heddle::group_of_tiles group(own, step, tile.tiles);
// CHECK-NEXT:     if (!heddle::arrives_last(&column_tickets[tile_index - own + group.first + step], group.count))
// CHECK-NEXT:       return false;
// CHECK:            heddle::pair_up<heddle::add<float>>(column_of_columns + base + column, step * tile.columns, group.count);
// CHECK:        return true;
// CHECK:      // once for the member, by the block that finishes it last
// CHECK:      softmax_columns_end(
// CHECK:        for (long long column = threadIdx.x; column < tile.columns; column += 256) {
// CHECK:          const float column_state = column_of_columns[base];
// CHECK:          column_value[column] = column_value_1;
// CHECK:      const bool is_last = softmax_columns_meet<
// CHECK-NEXT: if (is_last)
// CHECK-NEXT:   softmax_columns_end<
// CHECK-NOT:  _search
func.func @softmax_columns(%x: !mats {foreach.donate = 0 : i64}) -> (!mats, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    foreach.yield %e : f32
  }
  %p = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %sum[i] : !list) -> !mats {
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    %p = arith.divf %e, %s : f32
    foreach.yield %p : f32
  }
  %column = foreach.reduce add along i (%p = %p[i, j] : !mats) -> !list {
    foreach.yield %p : f32
  }
  return %p, %column : !mats, !list
}

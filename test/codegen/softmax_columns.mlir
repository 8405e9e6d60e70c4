// Rows and then columns in one sweep: a block processes rows, and columns are
// combined afterwards.
// RUN: %heddle emit %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

// CHECK:      // softmax_columns: 1 sweep
// CHECK:      // softmax_columns, rows: a block of 256 threads processes a tile
// CHECK-NEXT: //   16 rows, 8 bytes per element: reads x; writes {{.*}}, column_value
// CHECK:      #include "reduce.cuh"
// CHECK:      softmax_columns_walk(
// CHECK:      for (long long row = 0; row < tile.count; ++row) {
//             First the maximum of the row, in batches of eight columns; the next
//             batch is loaded while one is processed.
// CHECK:        float next_x[8];
// CHECK:        const heddle::walked_columns<256, 8, Adjacent> columns(parts.begin(part), parts.end(part));
// CHECK:          heddle::load_columns<float, 8>(next_x, tile.x + row * tile.x_stride, columns, 0, n);
// CHECK:        prefetch(0);
// CHECK-NEXT:   for (long long n = 0; columns.has(n); n += 8) {
// CHECK:          prefetch(n + 8);
// CHECK-NEXT:     heddle::keep_order();
// CHECK:            const long long column = columns.column(n + k);
// CHECK:          most_part = heddle::max<float>::combine(most_part, heddle::max<float>::lift(x[k]));
// CHECK:        most_part = heddle::over_block<heddle::max<float>, 256>(most_part);
//             Then the sum.
// CHECK:          = expf(
// CHECK:        sum_part = heddle::over_block<heddle::add<float>, 256>(sum_part);
//             Then the probabilities, in place, and their part of the columns.
// CHECK:          = expf(
// CHECK:          params.column_of_columns[tile.column_base + column] =
// CHECK:          to_x.write(k, column, p, true);
//             Tiles are combined in groups, then groups in groups.
// CHECK:      softmax_columns_combine(
// CHECK:        const heddle::threads_by_column<256> threads(tile.columns);
// CHECK:        for (long long step = 1; step < tile.tiles; step *= threads.tiles) {
// CHECK-NEXT:     const heddle::group_of_tiles group(own, step, tile.tiles, threads.tiles);
// CHECK:          if (!heddle::arrives_last(&params.column_tickets[tile_index - own + group.first + step], group.count))
//               A column of a member with few columns has several threads.
// CHECK:          if (threads.of_column > 1) {
// CHECK-NEXT:       heddle::combine_columns<heddle::add<float>>(params.column_of_columns + base, tile.columns, step, group.count,
// CHECK:          heddle::combine_tiles<heddle::add<float>, 256>(params.column_of_columns + base, tile.columns, step, group.count);
// CHECK:      softmax_columns_end(
// CHECK:          tile.column_value[column] = column_value;
// CHECK:      if (softmax_columns_combine(params, tile, tile_index))
// CHECK-NEXT:   softmax_columns_end(params, tile, tile_index);
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

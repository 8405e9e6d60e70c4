// A sweep that only maps elements: blocks share rows, and few of them reduce the
// values of rows and columns.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle explain %s | FileCheck %s --check-prefix=EXPLAIN
// RUN: sed 's/%%col\b/%%first_column/g; s/%%c\b/%%there/g; s/%%row\b/%%tile/g; s/%%r\b/%%k/g; s/%%a\b/%%take/g; s/%%sum\b/%%part/g' %s > %t.mlir
// RUN: %heddle emit %t.mlir --stage ptx | FileCheck %s --check-prefix=PTX
// RUN: %heddle emit %t.mlir | FileCheck %s --check-prefix=NAMES

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK:      //   4 rows, shared by blocks, 8 bytes per element: reads x, row_value, col, t; writes y, most, sum
// CHECK:      #include "shares.cuh"
//             A thread loads several rows of one column at a time, and holds up to 4 columns of others.
// CHECK:      shared_held(
// CHECK:        heddle::row_group<256, Items, Sure> group(static_cast<int>(tile.columns));
// CHECK-NEXT:   constexpr int items = Items == 1 ? 1 : 4;
// CHECK-NEXT:   constexpr int rows_at_once = Items == 1 ? 8 : 1;
// CHECK:        first_row += rows_at_once * group.count) {
// CHECK:      shared_walk(
// CHECK-NOT:    most_part
//             The columns of a block begin at a memory line, in each row.
// CHECK:          before_row[row] = heddle::before_row(tile.y + row * tile.y_stride);
// CHECK:        for (long long first_column = heddle::block_of_tile(params.table, tile_index) * 1024LL;
// CHECK-NEXT: {{.*}}; first_column += params.table.blocks_per_tile * 1024LL) {
//             All loads, of elements and of rows, precede the first store.
// CHECK:                x[row][k] = whole || slice.has(k) ? heddle::read_evict_first(&x_slice[k * 256]) : 0;
// CHECK-NEXT:           c[row][k] = whole || slice.has(k) ? col_slice[k * 256] : 0;
// CHECK:              r[row] = row < tile.count ? tile.row_value[row] : 0;
// CHECK:            heddle::keep_order();
// CHECK:                heddle::write_evict_first<float>(&y_slice[k * 256],
// CHECK:          if (tile.count == 4 && first_column >= most_before && first_column + 1024 <= tile.columns)
// CHECK-NOT:    most_part
//             Few blocks reduce: each of their threads takes the rows of one tile.
// CHECK:      shared_count(
// CHECK:        const bool counts = static_cast<int>(threadIdx.x) < tile.tiles - static_cast<int>(tile.first / 4);
// CHECK:          r[row] = row < count ? tile.row_value[first_row + row] : 0;
// CHECK:          most_part = heddle::max<float>::combine(most_part, heddle::max<float>::lift(r[row]));
// CHECK-DAG:      params.most_of_tiles[tile_index + threadIdx.x] = most_part;
// CHECK-DAG:      params.sum_of_tiles[tile_index + threadIdx.x] = sum_part;
// CHECK:      shared_process(
//             One block processes a tile of held rows, and all of them count.
// CHECK-NEXT:   if (tile.columns <= 256) {
// CHECK-NEXT:     if (heddle::block_of_tile(params.table, tile_index) > 0)
// CHECK-NEXT:       return;
// CHECK-NEXT:     if (tile.columns == 1)
// CHECK-NEXT:       shared_held<1, 1>(params, tile, tile_index);
// CHECK-NEXT:     else
// CHECK-NEXT:       shared_held<8, 0>(params, tile, tile_index);
// CHECK-NEXT:     if (heddle::arrives_last(&params.table.tickets[tile.member], tile.tiles))
// CHECK-NEXT:       shared_end(params, tile);
// CHECK-NEXT:     return;
// CHECK:        shared_walk(params, tile, tile_index);
// CHECK:        if (heddle::block_of_tile(params.table, tile_index) < params.table.blocks_per_tile - 1 || tile.first % 1024)
// CHECK-NEXT:     return;
// CHECK:        shared_count(params, same_tile, tile_index);
// CHECK-NEXT:   if (heddle::arrives_last(&params.table.tickets[same_tile.member], (same_tile.tiles + 255) / 256))
// CHECK-NEXT:     shared_end(params, same_tile);
// CHECK:        const int tile_index = heddle::tile_of_block(params.table);
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(5))

// NAMES: for (long long first_column = heddle::block_of_tile(params.table, tile_index)
// NAMES: &tile.first_column[slice.first];
// PTX: .visible .entry shared_tiles(
// PLAN: "block_columns": 1024
// PLAN: "held_columns": 256
// EXPLAIN: schedule: rows, 256 threads, tiles of 4 rows, more of up to 256 columns, 1024 columns per block
// EXPLAIN-NEXT: reason:   rows are only mapped, so blocks share them

func.func @shared(%x: !mats, %row: !list, %col: !list, %t: !each) -> (!mats, !each, !each) {
  %y = foreach.map (%x = %x[i, j] : !mats, %r = %row[i], %c = %col[j] : !list, %t = %t : !each) -> !mats {
    %a = arith.mulf %x, %t : f32
    %b = arith.addf %a, %r : f32
    %y = arith.subf %b, %c : f32
    foreach.yield %y : f32
  }
  %most = foreach.reduce max along member (%r = %row : !list) -> !each {
    foreach.yield %r : f32
  }
  %sum = foreach.reduce add along member (%c = %col : !list) -> !each {
    foreach.yield %c : f32
  }
  return %y, %most, %sum : !mats, !each, !each
}

// Elements that are only mapped: blocks share rows, and one of them counts what
// rows and columns leave behind.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle explain %s | FileCheck %s --check-prefix=EXPLAIN
// RUN: sed 's/%%col\b/%%first_column/g; s/%%c\b/%%there/g; s/%%row\b/%%tile/g; s/%%r\b/%%k/g' %s > %t.mlir
// RUN: %heddle emit %t.mlir --stage ptx | FileCheck %s --check-prefix=PTX
// RUN: %heddle emit %t.mlir | FileCheck %s --check-prefix=NAMES

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>
!each = !foreach.list<tensor<f32>>

// CHECK:      //   2 rows, shared by blocks, 8 bytes per element: reads x, row_value, col, t; writes y, most, sum
// CHECK:      shared_walk(
// CHECK-NOT:    most_part
//             What a thread takes is asked for first, of rows,
// CHECK:        float [[ROW:r[_0-9a-z]*]][2];
// CHECK:            [[ROW]][row] = row < tile.count ? heddle::convert<float>(row_value[row]) : 0;
//             and of the columns that are this block's,
// CHECK:        for (long long first_column = heddle::share_of_block(table) * 2048LL + threadIdx.x; first_column < tile.columns; first_column += table.shares * 2048LL) {
// CHECK-DAG:      float [[COL:c[_0-9a-z]*]][8];
// CHECK-DAG:      float [[X:x[_0-9a-z]*]][2][8];
// CHECK:            [[COL]][k] = there ? heddle::convert<float>(col[column]) : 0;
// CHECK:              [[X]][row][k] = there && row < tile.count ? heddle::convert<float>(x[row * x_stride + column]) : 0;
// CHECK:          heddle::keep_order();
//             then it is computed and stored.
// CHECK:            if (row >= tile.count)
// CHECK-NEXT:         break;
// CHECK:              if (column >= tile.columns)
// CHECK-NEXT:           break;
// CHECK:              y[row * y_stride + column] =
// CHECK-NOT:    most_part
// CHECK:      // once for a tile, by one of the blocks that share it
// CHECK:      shared_count(
// CHECK:        most_part = heddle::max<float>::combine(
// CHECK:        if (tile.first == 0)
// CHECK-NEXT:     sum_part = heddle::over_block
// CHECK:      shared_tile(
// CHECK-NEXT:   shared_walk
// CHECK-NEXT:   if (heddle::share_of_block(table) < table.shares - 1) // the last has fewest columns
// CHECK-NEXT:     return;
// CHECK:        shared_count<ByValue, Passing>(anew,
// CHECK-NEXT:   if (heddle::arrives_last(&table.tickets[anew.member], anew.tiles))
// CHECK-NEXT:     shared_end<ByValue, Passing>(anew,
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(6))
// CHECK:        const int tile_index = heddle::tile_of_block(table);

// NAMES: for (long long first_column_1 = heddle::share_of_block(table)
// PTX: .visible .entry shared_tiles(
// PLAN: "block_columns": 2048
// EXPLAIN: schedule rows, 256 threads, tiles of 2, 2048 columns a block
// EXPLAIN-NEXT: because  what is computed of a row meets nowhere, so blocks share rows

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

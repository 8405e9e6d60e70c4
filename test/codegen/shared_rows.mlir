// Elements that are only mapped: blocks share rows, and one of them counts what
// rows and columns leave behind.
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
// CHECK:      shared_walk(
// CHECK-NOT:    most_part
//             Blocks take columns from where a line of memory begins: of each row.
// CHECK:          before_row[row] = heddle::before_row(y + row * y_stride);
// CHECK-NEXT:     most_before = before_row[row] > most_before ? before_row[row] : most_before;
// CHECK:        for (long long first_column = heddle::share_of_block(table, tile_index) * 1024LL; first_column < tile.columns + most_before; first_column += table.shares * 1024LL) {
// CHECK-NEXT:     const auto take = [&](bool whole)
// CHECK-DAG:        float [[COL:c[_0-9a-z]*]][4][4];
// CHECK-DAG:        float [[X:x[_0-9a-z]*]][4][4];
//             All is asked for first, of elements and of rows,
// CHECK:              const heddle::part_of_row<256, 4> part(first_column, before_row[row], row < tile.count ? tile.columns : 0);
// CHECK-NEXT:         const float *const x_part = &x[row * x_stride + part.first];
// CHECK-NEXT:         const float *const col_part = &col[part.first];
// CHECK:                [[X]][row][k] = whole || part.has(k) ? heddle::convert<float>(heddle::read_passing(&x_part[k * 256])) : 0;
// CHECK-NEXT:           [[COL]][row][k] = whole || part.has(k) ? heddle::convert<float>(col_part[k * 256]) : 0;
// CHECK:            float [[ROW:r[_0-9a-z]*]][4];
// CHECK:              [[ROW]][row] = row < tile.count ? heddle::convert<float>(row_value[row]) : 0;
// CHECK:            heddle::keep_order();
//             then it is computed and stored.
// CHECK:              float *const y_part = &y[row * y_stride + part.first];
// CHECK:                if (!whole && !part.has(k))
// CHECK-NEXT:             continue;
// CHECK:                heddle::write_passing<float>(&y_part[k * 256],
// CHECK:          if (tile.count == 4 && first_column >= most_before && first_column + 1024 <= tile.columns)
// CHECK-NEXT:       take(true);
// CHECK-NEXT:     else
// CHECK-NEXT:       take(false);
// CHECK-NOT:    most_part
//             One block in many counts, in each thread the rows of a tile.
// CHECK:      // once for as many tiles as threads, by one of the blocks that share the first
// CHECK:      shared_count(
// CHECK:        const bool counts = static_cast<int>(threadIdx.x) < tile.tiles - static_cast<int>(tile.first / 4);
// CHECK-NEXT:   const int count = counts ? static_cast<const shared_tile_row *>(table.tiles)[tile_index + threadIdx.x].count : 0;
// CHECK-NEXT:   const int first_row = threadIdx.x * 4;
// CHECK:          [[ROW]][row] = row < count ? heddle::convert<float>(row_value[first_row + row]) : 0;
// CHECK:          if (row >= count)
// CHECK-NEXT:       break;
// CHECK:          most_part = heddle::max<float>::combine(most_part, heddle::max<float>::lift([[ROW]][row], tile.first + first_row + row));
// CHECK:        if (tile.first == 0)
// CHECK-NEXT:     sum_part = heddle::over_block
// CHECK-NEXT:   if (threadIdx.x > 0)
// CHECK-NEXT:     sum_part = heddle::add<float>::neutral();
// CHECK-NEXT:   if (counts) {
// CHECK-DAG:      most_of_tiles[tile_index + threadIdx.x] = most_part;
// CHECK-DAG:      sum_of_tiles[tile_index + threadIdx.x] = sum_part;
// CHECK:      shared_tile(
// CHECK-NEXT:   shared_walk
// CHECK-NEXT:   if (heddle::share_of_block(table, tile_index) < table.shares - 1 || tile.first % 1024) // the last has fewest columns
// CHECK-NEXT:     return;
// CHECK:        shared_count<ByValue, Passing>(anew,
// CHECK-NEXT:   if (heddle::arrives_last(&table.tickets[anew.member], (anew.tiles + 255) / 256))
// CHECK-NEXT:     shared_end<ByValue, Passing>(anew,
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(5))
// CHECK:        const int tile_index = heddle::tile_of_block(table);

// NAMES: for (long long first_column_1 = heddle::share_of_block(table, tile_index)
// PTX: .visible .entry shared_tiles(
// PLAN: "block_columns": 1024
// EXPLAIN: schedule: rows, 256 threads, tiles of 4 rows, 1024 columns per block
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

// Elements of 16 bits: a thread has adjacent columns, and accesses them as vectors, if all matrices of the tile are
// aligned. The order of reductions is the same.
// RUN: split-file %s %t
// RUN: %heddle emit %t/down.mlir | FileCheck %s --check-prefix=DOWN
// RUN: %heddle emit %t/scale.mlir | FileCheck %s --check-prefix=SCALE
// RUN: sed 's/bf16/f32/' %t/down.mlir | %heddle emit - | FileCheck %s --check-prefix=WIDER
// RUN: sed 's/bf16/f32/' %t/scale.mlir | %heddle emit - | FileCheck %s --check-prefix=WIDER
// RUN: %heddle emit %t/mixed.mlir | FileCheck %s --check-prefix=WIDER
// RUN: sed 's/mulf %%x, %%c/divf %%x, %%c/' %t/scale.mlir | %heddle emit - | FileCheck %s --check-prefix=FUNCTIONS
// RUN: sed 's/%%r\b/%%Adjacent/g; s/%%row\b/%%columns_of_row/g' %t/scale.mlir | %heddle emit - --stage ptx | FileCheck %s --check-prefix=PTX

// DOWN:      #include "columns.cuh"
// DOWN:      // Processes a tile of rows that threads hold in registers.
// DOWN:      down_held(
// DOWN:      template <bool Adjacent>
// DOWN-NEXT: __device__ __forceinline__ void
// DOWN-NEXT: down_walk(
// DOWN-NEXT:   constexpr int items = 4, rows_at_once = 8;
// DOWN:          const auto group = heddle::columns_of_block<256, items, Adjacent>(tile.columns - first_column);
// DOWN:            heddle::columns_of_row<heddle::bf16, items, Adjacent> x[rows_at_once];
// DOWN:              auto *const x_row = heddle::in_global(tile.x + row * tile.x_stride + first_column);
// DOWN-NEXT:         x[r].load(x_row, group, heddle::reread(group.present));
// DOWN-NEXT:       }
// No conversion is between two loads.
// DOWN-NEXT:       heddle::end_loads(first_row);
// DOWN:                    heddle::add<float>::lift(heddle::convert<float>(x[r][k]), tile.first + row));
// DOWN:      down_process(
// DOWN:        else if (heddle::has_vectors<4>(tile.columns, tile.x, tile.x_stride))
// DOWN-NEXT:     down_walk<true>(params, tile, tile_index);
// DOWN-NEXT:   else
// DOWN-NEXT:     down_walk<false>(params, tile, tile_index);

// SCALE:      #include "columns.cuh"
// SCALE:      template <bool Adjacent>
// SCALE:      scale_walk(
// SCALE:            heddle::columns_of_row<heddle::bf16, 4, Adjacent> x[4];
// SCALE-NEXT:       float c[4][4];
// SCALE:              const heddle::column_slice<256, 4, Adjacent> slice(first_column, before_row[row],
// SCALE-NEXT:             row < tile.count ? tile.columns : 0);
// SCALE-NEXT:         x[row].load_once(tile.x + row * tile.x_stride, slice, whole);
// Operands of columns are not aligned where rows are not.
// SCALE:                c[row][k] = whole || slice.has(k) ? col_slice[k * slice.step] : 0;
// SCALE:              heddle::columns_of_row<heddle::bf16, 4, Adjacent> to_y;
// SCALE:                const float b = a + r[row];
// SCALE-NEXT:           to_y.set(k, b);
// SCALE-NEXT:         }
// SCALE-NEXT:         to_y.store_once(tile.y + row * tile.y_stride, slice, whole);
// SCALE:        } else {
// SCALE-NEXT:     if (heddle::has_vectors<4>(tile.columns, tile.x, tile.x_stride)
// SCALE-NEXT:         && heddle::has_vectors<4>(tile.columns, tile.y, tile.y_stride))
// SCALE-NEXT:       scale_walk<true>(params, tile, tile_index);

// Vectors of larger elements are not faster; nor are they if other elements are larger.
// WIDER:     _walk(
// WIDER-NOT: walk<true>
// With functions, both forms of a walk that maps elements would need too many registers.
// FUNCTIONS:     scale_walk(
// FUNCTIONS-NOT: walk<true>
// PTX: .visible .entry scale_tiles(

//--- down.mlir
!element = bf16
!mats = !foreach.list<tensor<?x?x!element>>
!list = !foreach.list<tensor<?xf32>>

func.func @down(%x: !mats) -> !list {
  %sum = foreach.reduce add along i (%x = %x[i, j] as f32 : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %sum : !list
}

//--- scale.mlir
!element = bf16
!mats = !foreach.list<tensor<?x?x!element>>
!list = !foreach.list<tensor<?xf32>>

func.func @scale(%x: !mats, %row: !list, %col: !list) -> !mats {
  %y = foreach.map (%x = %x[i, j] as f32 : !mats, %r = %row[i], %c = %col[j] : !list) -> !mats {
    %a = arith.mulf %x, %c : f32
    %b = arith.addf %a, %r : f32
    foreach.yield %b : f32
  }
  return %y : !mats
}

//--- mixed.mlir
!mats = !foreach.list<tensor<?x?xbf16>>
!wide = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>

func.func @mixed(%x: !wide, %g: !mats) -> !list {
  %sum = foreach.reduce add along i (%x = %x[i, j] : !wide, %g = %g[i, j] as f32 : !mats) -> !list {
    %y = arith.mulf %x, %g : f32
    foreach.yield %y : f32
  }
  return %sum : !list
}

// Rows that blocks share have an entry in which the elements of a tile are vectors, row after row. It is for lists of
// which most rows have a multiple of four columns.
// RUN: split-file %s %t
// RUN: %heddle emit %t/scale.mlir | FileCheck %s
// RUN: %heddle emit %t/scale.mlir --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: sed 's/element = f32/element = bf16/' %t/scale.mlir | %heddle emit - | FileCheck %s --check-prefix=HALF
// RUN: sed 's/mulf %%x, %%c/divf %%x, %%c/' %t/scale.mlir | %heddle emit - | FileCheck %s --check-prefix=FUNCTIONS
// RUN: sed 's/f32/f64/g' %t/scale.mlir | %heddle emit - | FileCheck %s --check-prefix=DOUBLES
// RUN: sed 's/%%row\b/%%turns/g; s/%%r\b/%%items/g; s/%%col\b/%%vectors/g; s/%%c\b/%%Vectors/g; s/%%b\b/%%turn/g' %t/scale.mlir | %heddle emit - --stage ptx | FileCheck %s --check-prefix=PTX

// CHECK:      // Processes the elements of a tile as vectors.
// CHECK-NEXT: template <bool Adjacent>
// CHECK-NEXT: __device__ __forceinline__ void
// CHECK-NEXT: scale_mapped(const scale_params &params, const scale_tile &tile, int tile_index) {
//             Elements that are no vectors are loaded one by one, four at a time.
// CHECK-NEXT:   constexpr int items = Adjacent ? 4 : 1, turns = Adjacent ? 3 : 4;
// CHECK-NEXT:   const heddle::tile_vectors<256, 4, items> vectors(tile.columns, tile.count);
// CHECK-NEXT:   for (unsigned first_turn = heddle::block_of_tile(params.table, tile_index) * turns; vectors.has(first_turn);
// CHECK-NEXT:       first_turn += params.table.blocks_per_tile * turns) {
// CHECK-NEXT:     heddle::adjacent_elements<float, items> x[turns] = {};
// CHECK-NEXT:     heddle::adjacent_elements<float, items> c[turns] = {};
// CHECK-NEXT:     float r[turns];
// CHECK:            const auto at = vectors.at(first_turn + turn);
// CHECK-NEXT:       if (at.is_there) {
// CHECK-NEXT:         x[turn].load_once(tile.x + at.row * tile.x_stride + at.column);
//                     Other rows read the operand of columns again.
// CHECK-NEXT:         c[turn].load(tile.col + at.column);
// CHECK-NEXT:       }
// CHECK-NEXT:       r[turn] = at.is_there ? tile.row_value[at.row] : 0;
// CHECK-NEXT:     }
// CHECK-NEXT:     heddle::keep_order(); // all loads before the first store
// CHECK:              const float a = x[turn].template get<float>(k) * c[turn].template get<float>(k);
// CHECK-NEXT:         const float b = a + r[turn];
// CHECK-NEXT:         to_y.put(k, b);
// CHECK-NEXT:       }
// CHECK-NEXT:       if (at.is_there)
// CHECK-NEXT:         to_y.store_once(tile.y + at.row * tile.y_stride + at.column);
// CHECK:      template <bool Vectors>
// CHECK:      scale_process(
// CHECK:        if constexpr (Vectors) {
//                 Every operand of a tile decides, also the one of columns.
// CHECK-NEXT:     if (heddle::has_vectors<4>(tile.columns, tile.x, tile.x_stride)
// CHECK-NEXT:         && heddle::has_vectors<4>(tile.columns, tile.y, tile.y_stride) && heddle::is_aligned<4>(tile.col))
// CHECK-NEXT:       scale_mapped<true>(params, tile, tile_index);
// CHECK-NEXT:     else
// CHECK-NEXT:       scale_mapped<false>(params, tile, tile_index);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scale_walk(params, tile, tile_index);
// CHECK-NEXT:   }
// CHECK:      __launch_bounds__(256, HEDDLE_BLOCKS(6))
// CHECK-NEXT: scale_vectors(heddle::table table) {
// CHECK:        scale_block<true>(params);
// CHECK:      scale_tiles(heddle::table table) {
// CHECK:        scale_block<false>(params);

// 32 bits count the elements.
// PLAN:      "entry": "scale_vectors"
// PLAN:      "when": {
// PLAN-NEXT:   "max_columns": 536870911,
// PLAN-NEXT:   "mostly_multiples_of": 4
// PLAN:      "entry": "scale_tiles"
// PLAN-NOT:  "when"

// Two elements are rounded at a time, and fewer bytes are loaded for a vector.
// HALF:   constexpr int items = Adjacent ? 4 : 1, turns = Adjacent ? 4 : 4;
// HALF:     to_y.set(k, b);

// With divisions, fewer vectors are loaded at a time, and results are in arrays.
// FUNCTIONS:     constexpr int items = Adjacent ? 4 : 1, turns = Adjacent ? 2 : 4;
// FUNCTIONS:       float b[turns][items];
// FUNCTIONS:       bool exact = true;
// FUNCTIONS:             exact &= math.exact | !(at.is_there);

// DOUBLES:     scale_walk(
// DOUBLES-NOT: tile_vectors
// PTX: .visible .entry scale_vectors(

//--- scale.mlir
!element = f32
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

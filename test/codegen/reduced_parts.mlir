// A sweep that only reduces rows needs no element after its reduction. In a wide row, a block
// reduces several parts, one after the other, without a barrier between them. A row needs few
// blocks, which exchange the states of all parts.
// RUN: split-file %s %t
// RUN: %heddle emit %t/f32.mlir | FileCheck %s --check-prefixes=CHECK,F32
// RUN: %heddle emit %t/bf16.mlir | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: %heddle emit %t/dot.mlir | FileCheck %s --check-prefix=DOT
// RUN: %heddle emit %t/kinds.mlir --stage ptx --arch sm_90 | FileCheck %s --check-prefix=KINDS
// RUN: %heddle emit %t/f32.mlir --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: echo '{"many": [[500, 16385]], "few": [[2, 16385], [1, 1048576]], "mixed": [[4, 16385], [2, 16384]]}' > %t.json
// RUN: %heddle explain %t/f32.mlir --shapes %t.json:many --json | FileCheck %s --check-prefix=WIDE
// RUN: %heddle explain %t/f32.mlir --shapes %t.json:few --json | FileCheck %s --check-prefix=WIDE
// RUN: %heddle explain %t/f32.mlir --shapes %t.json:mixed --json | FileCheck %s --check-prefix=MIXED

// CHECK:      sums_held(
// CHECK:        heddle::row_parts parts(tile.columns, 16384, params.table.blocks_per_tile, part_of_tile,
// CHECK:      sums_walk(
// CHECK:        heddle::several_parts parts(tile.columns, 16384, params.table, part_of_tile);
// CHECK-NEXT:   heddle::begin_exchanges<float>(parts, params.s_of_parts, tile_index);
// CHECK-NEXT:   for (long long row = 0; row < tile.count; ++row) {
// CHECK:          heddle::states_of_parts<heddle::add<float>, 256, 128> s_of_parts;
// CHECK-NEXT:     auto *const x_row = heddle::in_global(tile.x + row * tile.x_stride);
// CHECK-NEXT:     for (int part = parts.first; part < parts.last; ++part) {
// CHECK-NEXT:       s_part = heddle::add<float>::neutral();
//                   Only parts of rows of more than 2^20 columns are wider.
// CHECK-NEXT:       const long long end_of_part = parts.end(part);
// CHECK-NEXT:       for (long long first_column = parts.begin(part); first_column < end_of_part; first_column += 8192) {
// CHECK-NEXT:         const heddle::group_of_block<256, 32, Adjacent> group(end_of_part - first_column);
// F32-NEXT:           float x[32];
// F32-NEXT:           heddle::load_columns<float, 32>(x, x_row + first_column, group, group.present);
//                     Floats of 16 bits are converted when they are added.
// BF16-NEXT:          heddle::loaded_columns<heddle::bf16, 32, decltype(group)> x;
// BF16-NEXT:          x.load(x_row + first_column, group, group.present);
// CHECK-NEXT:         heddle::keep_order();
// CHECK:              if (group.ends_before(k, group.present))
// CHECK-NEXT:           break;
// CHECK:              if (group.has(k, group.present)) {
// CHECK:            s_of_parts.put(part - parts.first, s_part);
// CHECK-NEXT:     }
// CHECK-NEXT:     s_part = s_of_parts.of_thread(parts.own());
// CHECK-NEXT:     if (!parts.is_divided())
// CHECK-NEXT:       s_part = heddle::over_block<heddle::add<float>, 256>(s_part);
// CHECK:          if (parts.is_divided()) {
// CHECK-NEXT:       s_part = heddle::over_parts<heddle::add<float>, 256>(s_part, params.s_of_parts, parts, tile_index,
// CHECK:      sums_process(
// CHECK:        if (part_of_tile > 0 && part_of_tile >= heddle::blocks_of_rows(params.table, tile.columns, 16384))
// CHECK-NEXT:     return;
// CHECK:        if constexpr (Held == 1048576) {
// CHECK-NEXT:     if (adjacent)
// CHECK-NEXT:       sums_walk<true>(
// CHECK-NEXT:     else
// CHECK-NEXT:       sums_walk<false>(
// CHECK-NEXT:   } else if (tile.columns == 1)
// CHECK-NOT:    holds_parts
// CHECK-NOT:  clusters
// CHECK:      extern "C" __global__ void __launch_bounds__(256, HEDDLE_WANTED_BLOCKS(5))
// CHECK-NEXT: sums_row_parts(

// With two operands, a thread loads half as many columns at a time.
// DOT:        dot_walk(
// DOT:          heddle::group_of_block<256, 16, Adjacent> group(

// Reductions of all kinds keep the states of parts in the same memory: a word for each of 256
// parts and 8 warps.
// KINDS-COUNT-1: .shared {{.*}}words_of_parts{{.*}}[8192];
// KINDS-NOT:     words_of_parts{{.*}}[8192];

// PLAN:       "several_parts": true
// WIDE:       "entry": "sums_row_parts",
// MIXED:      "entry": "sums_tiles",

//--- f32.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @sums(%x: !mats) -> !vecs {
  %s = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  return %s : !vecs
}

//--- bf16.mlir
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @sums(%x: !mats) -> !vecs {
  %s = foreach.reduce add along j (%x = %x[i, j] as f32 : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  return %s : !vecs
}

//--- dot.mlir
!mats = !foreach.list<tensor<?x?xbf16>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @dot(%x: !mats, %y: !mats) -> !vecs {
  %s = foreach.reduce add along j (%x = %x[i, j] as f32, %y = %y[i, j] as f32 : !mats) -> !vecs {
    %p = arith.mulf %x, %y : f32
    foreach.yield %p : f32
  }
  return %s : !vecs
}

//--- kinds.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!imats = !foreach.list<tensor<?x?xi32>>
!ivecs = !foreach.list<tensor<?xi32>>
func.func @kinds(%x: !mats, %y: !mats, %u: !mats, %z: !imats) -> (!vecs, !vecs, !ivecs) {
  %sum = foreach.reduce add along j (%x = %x[i, j], %y = %y[i, j] : !mats) -> !vecs {
    %p = arith.mulf %x, %y : f32
    foreach.yield %p : f32
  }
  %most = foreach.reduce max along j (%u = %u[i, j] : !mats) -> !vecs {
    foreach.yield %u : f32
  }
  %isum = foreach.reduce add along j (%z = %z[i, j] : !imats) -> !ivecs {
    foreach.yield %z : i32
  }
  return %sum, %most, %isum : !vecs, !vecs, !ivecs
}

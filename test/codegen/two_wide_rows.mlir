// A sweep that only reduces rows needs no element after its reduction. So a block loads two rows of
// 2049 to 4096 columns at a time, and tiles of such rows have at least two.
// RUN: split-file %s %t
// RUN: %heddle emit %t/f32.mlir | FileCheck %s --check-prefixes=CHECK,F32
// RUN: %heddle emit %t/f32.mlir --stage plan | FileCheck %s --check-prefix=PLAN
// RUN: %heddle emit %t/bf16.mlir | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: %heddle emit %t/dot.mlir | FileCheck %s --check-prefix=DOT
// RUN: %heddle emit %t/dot.mlir --stage plan | FileCheck %s --check-prefix=SINGLE
// RUN: %heddle emit %t/list.mlir --stage plan | FileCheck %s --check-prefix=SINGLE
// RUN: %heddle explain %t/f32.mlir | FileCheck %s --check-prefix=EXPLAIN

// CHECK-LABEL: sums_held(
// F32:         rows_at_once = Items == 1 ? 8 : Items <= 4 ? 4 : Items == 8 ? 2 : Items == 16 && !Lanes ? 2 : 1;
//              Floats of 16 bits that are not adjacent take as many registers as floats of 32 bits.
// BF16:        rows_at_once = {{.*}}Items == 8 ? 2 : Items == 16 && !Lanes && Adjacent ? 2
// CHECK:       const int row = (Items > 16 && !Lanes) || wanted < tile.count ? wanted : 0;
// F32:         heddle::keep_order();
// BF16:        heddle::end_loads(first_row);
// CHECK:       const bool there = (Items > 16 && !Lanes) || row < tile.count;
// CHECK-LABEL: sums_process(
// CHECK:       tile.columns <= 2048)
// CHECK-NEXT:    sums_held<true, 8, 4, 0>(
// CHECK:       else if (Held == 4096 || tile.columns <= 4096)
// CHECK-NEXT:    sums_held<false, 16, 8, 0>(
// PLAN:        "held_columns": 4096
// EXPLAIN:     tiles of 1 row, more of up to 4096 columns

// Two operands of f32 take too many registers. More rows in a tile would change the order of a
// sum over the list.
// DOT-LABEL:   dot_held(
// DOT:         Items == 8 ? 2 : 1;
// DOT:         const int row = (Items > 8 && !Lanes) || wanted < tile.count ? wanted : 0;
// SINGLE:      "held_columns": 2048

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
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
func.func @dot(%x: !mats, %y: !mats) -> !vecs {
  %s = foreach.reduce add along j (%x = %x[i, j], %y = %y[i, j] : !mats) -> !vecs {
    %p = arith.mulf %x, %y : f32
    foreach.yield %p : f32
  }
  return %s : !vecs
}

//--- list.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!vecs = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @list(%x: !mats) -> (!vecs, !each) {
  %s = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !vecs {
    foreach.yield %x : f32
  }
  %t = foreach.reduce add along member (%s = %s : !vecs) -> !each {
    foreach.yield %s : f32
  }
  return %s, %t : !vecs, !each
}

// A matrix whose rows are traversed twice is replaced in place: the second traversal stores it, also the result that the
// first could compute.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

// CHECK:      in_place_walk(
// CHECK-NOT:    row_writer
// CHECK:        sum_part = heddle::over_block<heddle::add<float>, 256>(sum_part);
// CHECK-DAG:      heddle::row_writer<float, decltype(columns)> to_m(tile.m + row * tile.m_stride);
// CHECK-DAG:      heddle::row_writer<float, decltype(columns)> to_p(tile.p + row * tile.p_stride);
// CHECK:            heddle::load_columns<float, 8>(next_m, tile.m + row * tile.m_stride, columns, 0, n);
// CHECK-DAG:      to_m.write(k, column,
// CHECK-DAG:      to_p.write(k, column,

// PLAN-NOT: "copy"
// PLAN-NOT: "temporary"

!list = !foreach.list<tensor<?xf32>>
!mats = !foreach.list<tensor<?x?xf32>>

func.func @in_place(%p: !mats {foreach.donate = 0 : i64}, %m: !mats {foreach.donate = 1 : i64}) -> (!mats, !mats) {
  %sum = foreach.reduce add along j (%m = %m[i, j] : !mats) -> !list {
    %square = arith.mulf %m, %m : f32
    foreach.yield %square : f32
  }
  %m1 = foreach.map (%m = %m : !mats) -> !mats {
    %m1 = arith.negf %m : f32
    foreach.yield %m1 : f32
  }
  %p1 = foreach.map (%p = %p[i, j], %m = %m1[i, j] : !mats, %s = %sum[i] : !list) -> !mats {
    %change = arith.mulf %m, %s : f32
    %p1 = arith.subf %p, %change : f32
    foreach.yield %p1 : f32
  }
  return %p1, %m1 : !mats, !mats
}

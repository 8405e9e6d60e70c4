// Values of rows that only elements need are computed after the first elements of the row are being loaded. A value
// that is stored for the row is computed before.
// RUN: split-file %s %t
// RUN: %heddle emit %t/scaled.mlir | FileCheck %s
// RUN: %heddle emit %t/stored.mlir | FileCheck %s --check-prefix=STORED

// CHECK:      scaled_walk(
// CHECK:        for (long long row = 0; row < tile.count; ++row) {
// CHECK-NEXT:     const float v = tile.v[row];
// CHECK-NOT:      inverse_root
// CHECK:          prefetch(0);
// CHECK-NEXT:     const float factor = heddle::inverse_root(v);
// CHECK-NEXT:     for (long long n = 0;

// STORED:      stored_walk(
// STORED:        for (long long row = 0; row < tile.count; ++row) {
// STORED-NEXT:     const float v = tile.v[row];
// STORED-NEXT:     const float factor = heddle::inverse_root(v);
// STORED:          prefetch(0);
// STORED:          tile.factor[row] = factor;

//--- scaled.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @scaled(%m: !mats, %v: !list) -> !each {
  %t = foreach.reduce add along member (%m = %m[i, j] : !mats, %v = %v[i] : !list) -> !each {
    %factor = math.rsqrt %v : f32
    %scaled = arith.mulf %m, %factor : f32
    foreach.yield %scaled : f32
  }
  return %t : !each
}

//--- stored.mlir
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
func.func @stored(%m: !mats, %v: !list) -> (!each, !list) {
  %factor = foreach.map (%v = %v : !list) -> !list {
    %factor = math.rsqrt %v : f32
    foreach.yield %factor : f32
  }
  %t = foreach.reduce add along member (%m = %m[i, j] : !mats, %factor = %factor[i] : !list) -> !each {
    %scaled = arith.mulf %m, %factor : f32
    foreach.yield %scaled : f32
  }
  return %t, %factor : !each, !list
}

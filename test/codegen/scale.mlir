// The source of the smallest program: its parts in order, with the names of the program.
// RUN: %heddle emit %s > %t.cu
// RUN: FileCheck %s --input-file %t.cu

!list = !foreach.list<tensor<?xf32>>

func.func @scale(%x: !list {foreach.donate = 0 : i64}, %by: tensor<f64> {foreach.default = 2.5 : f64}) -> !list {
  %y = foreach.map (%x = %x : !list, %by = %by as f32 : tensor<f64>) -> !list {
    %y = arith.mulf %x, %by : f32
    foreach.yield %y : f32
  }
  return %y : !list
}

// The banner says what the sweep visits and moves.
// CHECK: // scale, stream: a block of 256 threads processes a tile
// CHECK-NEXT: 1024 elements, 8 bytes per element: reads x; writes x

// Fields have the names and types of the program.
// CHECK: struct alignas(16) scale_tile {
// CHECK-NEXT: float *x;
// CHECK: struct scale_params {
// CHECK-NEXT: heddle::table table;
// CHECK-NEXT: heddle::scalar_argument<double, ByValue> by;

// CHECK: float x[4];
// CHECK: const float by = float(*params.by);
// CHECK: x[k] = x[k] * by;

// One entry for each variant, and nothing after the last.
// CHECK: scale_evict_first(heddle::table table, heddle::scalar_argument<double, true> by) {
// CHECK: scale_tiles(heddle::table table, heddle::scalar_argument<double, true> by) {
// CHECK: scale_tiles_by_address(heddle::table table, heddle::scalar_argument<double, false> by) {
// CHECK-NEXT: const scale_params<false> params = {table, by};
// CHECK-NEXT: scale_block<false>(params);
// CHECK-NEXT: }
// CHECK-NOT: {{.}}

// A loop: an entry for each of its sweeps, and an entry that runs the whole loop
// in one cooperative launch.
// RUN: %heddle emit %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>

// CHECK:     #include "grid.cuh"
// CHECK:     halve_{{[a-z0-9_]+}}_tiles(
// CHECK:     extern "C" __global__ void __launch_bounds__(256, 2)
// CHECK-NEXT: halve_loop_in_one_launch(
// CHECK:     for (bool more = limit > 0; more;) {
// CHECK:       for (int k = blockIdx.x; k < {{.*}}.table.tile_count; k += gridDim.x) {
// CHECK:       heddle::grid_barrier(barrier);
// CHECK:       ++iteration;
// CHECK:       more = iteration < limit && *static_cast<const volatile bool *>(condition);
// CHECK:       heddle::grid_barrier(barrier);
// CHECK:     if (blockIdx.x == 0 && threadIdx.x == 0)
// CHECK-NEXT: *iterations_taken = iteration;
func.func @halve(%x0: !list {foreach.donate = 0 : i64}, %limit: tensor<i32>, %tol: !num) -> (!list, !num, tensor<i32>) {
  %x, %sum, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !num, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %x1 = arith.mulf %half, %x : f32
      foreach.yield %x1 : f32
    }
    %sum = foreach.reduce add along list (%x = %x1 as f64 : !list) -> !num {
      %q = arith.mulf %x, %x : f64
      foreach.yield %q : f64
    }
    %more = foreach.map (%s = %sum, %tol = %tol : !num) -> tensor<i1> {
      %more = arith.cmpf ogt, %s, %tol : f64
      foreach.yield %more : i1
    }
    foreach.yield %x1, %sum while %more : !list, !num while tensor<i1>
  }
  return %x, %sum, %iterations : !list, !num, tensor<i32>
}

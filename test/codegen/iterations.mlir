// A loop with a flag for every member that reads and records entries of its
// iteration. In the entry of the sweep the iteration is in memory. In the entry of
// the whole loop it is in a register, and the flags are in member descriptors.
// RUN: %heddle emit %s | FileCheck %s
// RUN: %heddle emit %s --stage plan | FileCheck %s --check-prefix=PLAN

!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>

// CHECK:     #include "iterations.cuh"
// CHECK:     long long schedule_length;
// CHECK:     anneal_x1_walk(
// CHECK:       const float s = heddle::at_iteration<float>(tile.schedule, tile.schedule_length, *params.iteration);
// CHECK:     anneal_x1_end(
// CHECK:       const bool early = *params.iteration < 2;
// CHECK:       if (threadIdx.x == 0) {
// CHECK:         heddle::record(tile.history, tile.history_length, *params.iteration, e);
// CHECK:     anneal_x1_tiles(heddle::table table, const int *iteration, float *e_of_tiles) {
// CHECK:     anneal_loop_in_one_launch(heddle::table table_of_anneal_x1,
// CHECK:       int iteration = 0;
// CHECK-NEXT:  const anneal_x1_params anneal_x1 = {table_of_anneal_x1, &iteration, e_of_tiles};
// CHECK:       anneal_x1_process{{.*}}(anneal_x1, tile, tile_index);
// CHECK:       heddle::grid_barrier(barrier);
// CHECK-NEXT:  ++iteration;
// CHECK-NEXT:  more = iteration < limit
// CHECK-NEXT:      && heddle::any_member<heddle::member_descriptor<{{[0-9]+}}, 1>, {{[0-9]+}}>(anneal_x1.table.members,
// CHECK-NEXT:      anneal_x1.table.member_count);
// CHECK-NEXT:  heddle::grid_barrier(barrier);

// PLAN-DAG:  "index": "length"
// PLAN-DAG:  "entry": "anneal_loop_in_one_launch"
func.func @anneal(%x0: !list {foreach.donate = 0 : i64}, %schedule: !list, %history: !list {foreach.donate = 1 : i64},
                  %limit: tensor<i32>) -> (!list, !list, !iteration) {
  %x, %h, %iterations = foreach.while (%x = %x0, %h = %history : !list) upto %limit -> (!list, !list, !iteration) {
    %x1 = foreach.map (%x = %x, %s = %schedule[iteration] : !list) -> !list {
      %y = arith.mulf %x, %s : f32
      foreach.yield %y : f32
    }
    %e = foreach.reduce max along member (%y = %x1 : !list) -> !each {
      foreach.yield %y : f32
    }
    %h1 = foreach.record %e in %h : !each in !list
    %more = foreach.map (%e = %e : !each) -> !flag {
      %k = foreach.iteration : i32
      %two = arith.constant 2 : i32
      %early = arith.cmpi slt, %k, %two : i32
      %one = arith.constant 1.0 : f32
      %large = arith.cmpf ogt, %e, %one : f32
      %more = arith.ori %early, %large : i1
      foreach.yield %more : i1
    }
    foreach.yield %x1, %h1 while %more : !list, !list while !flag
  }
  return %x, %h, %iterations : !list, !list, !iteration
}

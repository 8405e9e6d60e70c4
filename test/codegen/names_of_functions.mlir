// A value whose name ends like the functions and types of a sweep gets another
// name in the source, so it hides none of them.
// RUN: %heddle emit %s | FileCheck %s

!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>

// CHECK:       struct f_t_params {
// CHECK:         const float *f_t_block_value;
// CHECK:       f_t_tiles(heddle::table table,
// CHECK:         f_t_block(params);
// CHECK-LABEL: f_loop_in_one_launch(
// CHECK:         const f_t_params f_t = {
// CHECK:         const f_t_tile_params f_t_tile_value = {
// CHECK:           heddle::descriptor_at<f_t_tile>(f_t.table.tiles, tile_index);
// CHECK:           heddle::descriptor_at<f_t_tile_tile>(f_t_tile_value.table.tiles, tile_index);
func.func @f(%x0: !list {foreach.donate = 0 : i64}, %limit: tensor<i32>, %f_t_block: !num) -> (!list, tensor<i32>) {
  %x, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, tensor<i32>) {
    %t = foreach.reduce add along list (%x = %x : !list) -> !num {
      foreach.yield %x : f32
    }
    %t_tile = foreach.map (%x = %x : !list, %t = %t : !num) -> !list {
      %q = arith.divf %x, %t : f32
      foreach.yield %q : f32
    }
    %more = foreach.map (%t = %t, %tol = %f_t_block : !num) -> tensor<i1> {
      %more = arith.cmpf ogt, %t, %tol : f32
      foreach.yield %more : i1
    }
    foreach.yield %t_tile while %more : !list while tensor<i1>
  }
  return %x, %iterations : !list, tensor<i32>
}

// The whole text of the smallest program.
// RUN: %heddle emit %s > %t.cu
// RUN: FileCheck %s --input-file %t.cu --strict-whitespace --match-full-lines

!list = !foreach.list<tensor<?xf32>>

func.func @scale(%x: !list {foreach.donate = 0 : i64}, %by: tensor<f64> {foreach.default = 2.5 : f64}) -> !list {
  %y = foreach.map (%x = %x : !list, %by = %by as f32 : tensor<f64>) -> !list {
    %y = arith.mulf %x, %by : f32
    foreach.yield %y : f32
  }
  return %y : !list
}

//CHECK:// scale: 1 sweep
//CHECK-NEXT://
//CHECK-NEXT:// scale, stream: a block of 256 threads takes a tile
//CHECK-NEXT://   1024 elements, 8 bytes per element: reads x; writes x
//CHECK-NEXT:#include "access.cuh"
//CHECK-NEXT:#include "math.cuh"
//CHECK-NEXT:#include "tables.cuh"
//CHECK-EMPTY:
//CHECK-NEXT:using scale_member_row = heddle::member_row<1, 1>;
//CHECK-NEXT:using scale_tile_row = heddle::tile_row<1, 1>;
//CHECK-EMPTY:
//CHECK-NEXT:template <bool ByValue, bool Passing>
//CHECK-NEXT:__device__ __forceinline__ void scale_walk(bool whole, const scale_tile_row &tile, int tile_index, heddle_table table, heddle::number<double, ByValue> by_at) {
//CHECK-NEXT:  float *__restrict__ const x = static_cast<float *>(tile.operand[0]);
//CHECK-NEXT:  float x_1[4];
//CHECK-NEXT:  heddle::load<false, Passing, 256>(whole, x, tile.count, x_1);
//CHECK-NEXT:  const float by = heddle::convert<float>(*by_at);
//CHECK-NEXT:  float x_new[4];
//CHECK-NEXT:  #pragma unroll
//CHECK-NEXT:  for (int k = 0; k < 4; ++k) {
//CHECK-NEXT:    const float y = x_1[k] * by;
//CHECK-NEXT:    x_new[k] = y;
//CHECK-NEXT:  }
//CHECK-NEXT:  heddle::store<false, Passing, 256>(whole, x, tile.count, x_new);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:template <bool ByValue, bool Passing>
//CHECK-NEXT:__device__ __forceinline__ void scale_tile(const scale_tile_row &tile, int tile_index, heddle_table table, heddle::number<double, ByValue> by_at) {
//CHECK-NEXT:  float *__restrict__ const x = static_cast<float *>(tile.operand[0]);
//CHECK-NEXT:  const bool whole = tile.count == 1024 && heddle::are_aligned(x);
//CHECK-NEXT:  scale_walk<ByValue, Passing>(whole, tile, tile_index, table, by_at);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(8))
//CHECK-NEXT:scale_cached(heddle_table table, heddle::number<double, true> by_at) {
//CHECK-NEXT:  const int tile_index = blockIdx.x;
//CHECK-NEXT:  const scale_tile_row tile = heddle::row_at<scale_tile_row>(table.tiles, tile_index);
//CHECK-NEXT:  scale_tile<true, true>(tile, tile_index, table, by_at);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(8))
//CHECK-NEXT:scale_tiles(heddle_table table, heddle::number<double, true> by_at) {
//CHECK-NEXT:  const int tile_index = blockIdx.x;
//CHECK-NEXT:  const scale_tile_row tile = heddle::row_at<scale_tile_row>(table.tiles, tile_index);
//CHECK-NEXT:  scale_tile<true, false>(tile, tile_index, table, by_at);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(7))
//CHECK-NEXT:scale_tiles_by_address(heddle_table table, heddle::number<double, false> by_at) {
//CHECK-NEXT:  const int tile_index = blockIdx.x;
//CHECK-NEXT:  const scale_tile_row tile = heddle::row_at<scale_tile_row>(table.tiles, tile_index);
//CHECK-NEXT:  scale_tile<false, false>(tile, tile_index, table, by_at);
//CHECK-NEXT:}

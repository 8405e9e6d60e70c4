// The whole source of the smallest program.
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
//CHECK-NEXT:// scale, stream: a block of 256 threads processes a tile
//CHECK-NEXT://   1024 elements, 8 bytes per element: reads x; writes x
//CHECK-NEXT:#include "access.cuh"
//CHECK-NEXT:#include "math.cuh"
//CHECK-NEXT:#include "tables.cuh"
//CHECK-EMPTY:
//CHECK-NEXT:// The descriptor of a tile.
//CHECK-NEXT:struct alignas(16) scale_tile {
//CHECK-NEXT:  float *x;
//CHECK-NEXT:  long long first;
//CHECK-NEXT:  int count, member, segment, tiles;
//CHECK-NEXT:};
//CHECK-EMPTY:
//CHECK-NEXT:// The arguments of the kernels.
//CHECK-NEXT:template <bool ByValue> struct scale_params {
//CHECK-NEXT:  heddle::table table;
//CHECK-NEXT:  heddle::scalar_argument<double, ByValue> by;
//CHECK-NEXT:};
//CHECK-EMPTY:
//CHECK-NEXT:template <bool EvictFirst, bool ByValue>
//CHECK-NEXT:__device__ __forceinline__ void
//CHECK-NEXT:scale_walk(const scale_params<ByValue> &p, const scale_tile &tile, bool whole) {
//CHECK-NEXT:  float x[4];
//CHECK-NEXT:  heddle::load<256, EvictFirst>(whole, tile.x, tile.count, x);
//CHECK-NEXT:  const float by = float(*p.by);
//CHECK-NEXT:  #pragma unroll
//CHECK-NEXT:  for (int k = 0; k < 4; ++k) {
//CHECK-NEXT:    x[k] = x[k] * by;
//CHECK-NEXT:  }
//CHECK-NEXT:  heddle::store<256, EvictFirst>(whole, tile.x, tile.count, x);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:template <bool EvictFirst, bool ByValue>
//CHECK-NEXT:__device__ __forceinline__ void
//CHECK-NEXT:scale_process(const scale_params<ByValue> &p, const scale_tile &tile) {
//CHECK-NEXT:  const bool whole = tile.count == 1024 && heddle::are_aligned(tile.x);
//CHECK-NEXT:  scale_walk<EvictFirst>(p, tile, whole);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:template <bool EvictFirst, bool ByValue>
//CHECK-NEXT:__device__ __forceinline__ void scale_block(const scale_params<ByValue> &p) {
//CHECK-NEXT:  const int tile_index = blockIdx.x;
//CHECK-NEXT:  const auto tile = heddle::descriptor_at<scale_tile>(p.table.tiles, tile_index);
//CHECK-NEXT:  scale_process<EvictFirst>(p, tile);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(8))
//CHECK-NEXT:scale_evict_first(heddle::table table, heddle::scalar_argument<double, true> by) {
//CHECK-NEXT:  const scale_params<true> p = {table, by};
//CHECK-NEXT:  scale_block<true>(p);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(8))
//CHECK-NEXT:scale_tiles(heddle::table table, heddle::scalar_argument<double, true> by) {
//CHECK-NEXT:  const scale_params<true> p = {table, by};
//CHECK-NEXT:  scale_block<false>(p);
//CHECK-NEXT:}
//CHECK-EMPTY:
//CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, HEDDLE_BLOCKS(7))
//CHECK-NEXT:scale_tiles_by_address(heddle::table table, heddle::scalar_argument<double, false> by) {
//CHECK-NEXT:  const scale_params<false> p = {table, by};
//CHECK-NEXT:  scale_block<false>(p);
//CHECK-NEXT:}

// panel_reduction.cuh: reductions over the threads of a warp, thread group, block or
// cluster.
#pragma once
#include "panel_class.cuh"
#include "reduce.cuh"

namespace heddle {

// Combines `Count` states over each run of `Lanes` consecutive lanes of a warp. Every
// lane has the results.
template <class Kind, int Count, int Lanes = 32> __device__ __forceinline__ void combine_warp(typename Kind::state (&mine)[Count]) {
  __syncwarp(); // otherwise ptxas adds code for divergent threads
#pragma unroll
  for (int mask = Lanes / 2; mask; mask /= 2)
#pragma unroll
    for (int k = 0; k < Count; ++k)
      mine[k] = Kind::combine(mine[k], shuffle_xor(mine[k], mask));
}
template <class Kind, int Lanes = 32> __device__ __forceinline__ typename Kind::state combine_warp(typename Kind::state mine) {
  typename Kind::state one[1] = {mine};
  combine_warp<Kind, 1, Lanes>(one);
  return one[0];
}

// Reduction `Number` of the rows that a thread group processes together: over the warps
// of the group, or of the groups of a cluster that share the rows. Two buffers are
// enough: before a thread writes a buffer again, it has synchronized with all threads
// that read it.
template <class Kind, int Number> class row_reduction {
  using state = typename Kind::state;
  static constexpr int parts = cluster_blocks * group_warps;
  static_assert(cluster_blocks == 1 || rows_at_once == 1, "blocks with a cluster per member do not share rows");
  struct shared_parts {
    alignas(16) state part[thread_groups][2][rows_at_once][parts];
    arrival barrier[thread_groups][2];
  };
  static __device__ __forceinline__ shared_parts &shared() {
    __shared__ shared_parts of_block;
    return of_block;
  }

public:
  // The block, and the cluster, synchronize before the first row.
  __device__ __forceinline__ row_reduction() {
    if (cluster_blocks > 1 && threadIdx.x < 2 * thread_groups)
      arrival_init(&shared().barrier[threadIdx.x / 2][threadIdx.x % 2], 1);
    if (cluster_blocks > 1)
      arrival_init_fence();
  }
  // Combines the states of each warp and publishes the results. Then the group
  // synchronizes.
  __device__ __forceinline__ void publish(const state (&mine)[rows_at_once]) {
#pragma unroll
    for (int b = 0; b < rows_at_once; ++b)
      of_warp[b] = mine[b];
    combine_warp<Kind>(of_warp);
    if constexpr (parts == 1)
      return;
    const int group = group_of_thread(), lane = threadIdx.x % 32, warp = thread_in_group() / 32;
    auto &to = shared().part[group][rounds % 2];
    if constexpr (cluster_blocks == 1) {
      if (lane == 0)
#pragma unroll
        for (int b = 0; b < rows_at_once; ++b)
          to[b][warp] = of_warp[b];
    } else {
      arrival *const barrier = &shared().barrier[group][rounds % 2];
      if (thread_in_group() == 0)
        arrival_expect(barrier, parts * sizeof(state));
      if (lane < cluster_blocks)
        send(&to[0][cluster_rank() * group_warps + warp], of_warp[0], barrier, lane);
    }
  }
  // The result of the `b`th row. The last row must be combined last.
  __device__ __forceinline__ state combine(int b) {
    if constexpr (parts == 1)
      return of_warp[b];
    const int group = group_of_thread();
    if (cluster_blocks > 1)
      arrival_wait(&shared().barrier[group][rounds % 2], rounds / 2 & 1);
    const state *const part = shared().part[group][rounds % 2][b];
    if (b == rows_at_once - 1)
      ++rounds;
    if constexpr (sizeof(state) <= 4 && parts % 4 == 0) {
      // Several short chains of dependent additions.
      constexpr int chains = parts % 8 == 0 ? 8 : 4;
      state sum[chains];
#pragma unroll
      for (int k = 0; k < parts; ++k)
        sum[k % chains] = k < chains ? part[k] : Kind::combine(sum[k % chains], part[k]);
#pragma unroll
      for (int half = chains / 2; half; half /= 2)
#pragma unroll
        for (int k = 0; k < half; ++k)
          sum[k] = Kind::combine(sum[k], sum[k + half]);
      return sum[0];
    } else {
      // Additions in double take longer than shuffles.
      constexpr int lanes = parts > 4 ? 8 : parts > 2 ? 4 : 2;
      const int lane = threadIdx.x % lanes;
      state mine = lane < parts ? part[lane] : Kind::neutral();
#pragma unroll
      for (int k = lanes; k < parts; k += lanes)
        mine = Kind::combine(mine, k + lane < parts ? part[k + lane] : Kind::neutral());
      return combine_warp<Kind, lanes>(mine);
    }
  }

private:
  state of_warp[rows_at_once];
  unsigned rounds = 0;
};

// Combines one state of each thread of the block. For rare cases: few instructions
// rather than speed.
template <class Kind> __device__ __noinline__ typename Kind::state combine_block_rarely(typename Kind::state mine) {
  __shared__ typename Kind::state of_warp[block_threads / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    if (round) {
      __syncthreads(); // the previous call may still read
      if (lane == 0)
        of_warp[threadIdx.x / 32] = mine;
      __syncthreads();
      mine = lane < block_threads / 32 ? of_warp[lane] : Kind::neutral();
    }
#pragma unroll 1
    for (int mask = 16; mask; mask /= 2)
      mine = Kind::combine(mine, shuffle_xor(mine, mask));
  }
  return mine;
}

// Combines the states of a cluster's blocks in the order of their ranks.
template <class Kind> __device__ __forceinline__ typename Kind::state combine_cluster(typename Kind::state mine) {
  if constexpr (cluster_blocks == 1) {
    return mine;
  } else {
    __shared__ typename Kind::state all[cluster_blocks];
    if (threadIdx.x < cluster_blocks)
      put(&all[cluster_rank()], mine, threadIdx.x);
    cluster_barrier();
    typename Kind::state sum = all[0];
    for (int rank = 1; rank < cluster_blocks; ++rank)
      sum = Kind::combine(sum, all[rank]);
    cluster_barrier(); // before a block writes `all` again
    return sum;
  }
}

} // namespace heddle

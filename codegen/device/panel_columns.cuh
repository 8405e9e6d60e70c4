// panel_columns.cuh: columns that the thread groups of a block share.
#pragma once
#include "panel_position.cuh"

namespace heddle {

// If more than two thread groups have the same columns and shared memory suffices, each
// thread computes the values of a few columns and broadcasts them through a buffer.
// With a cluster per member the buffer has its own memory; otherwise it uses the memory
// of combine_groups. With two groups a broadcast saves less than its barrier costs.
template <class State, int BufferBytes>
constexpr int broadcast_bytes = thread_groups <= 2 ? 0 : cluster_per_member ? BufferBytes : thread_groups * sizeof(State);
constexpr bool has_broadcast_buffer = cluster_per_member;

// The number of columns whose values a thread computes.
template <bool Broadcasts>
constexpr int columns_computed = Broadcasts ? (items_per_thread * group_threads - 1) / block_threads + 1 : items_per_thread;
template <bool Broadcasts> __device__ __forceinline__ int computed_column(int k) {
  return Broadcasts ? threadIdx.x + k * block_threads : thread_in_group() + k * group_threads;
}
template <bool Broadcasts> __device__ __forceinline__ bool computes_column(const row_range &rows, int k) {
  return Broadcasts ? computed_column<true>(k) < rows.width : rows.has_column(k);
}
template <bool Broadcasts, class T> __device__ __forceinline__ void broadcast_columns(const T (&computed)[items_per_thread], char *buffer) {
  if constexpr (Broadcasts)
#pragma unroll
    for (int k = 0; k < columns_computed<true>; ++k)
      if (const int c = computed_column<true>(k); c < items_per_thread * group_threads)
        reinterpret_cast<T *>(buffer)[c] = computed[k];
}
template <bool Broadcasts, class T> __device__ __forceinline__ void receive_columns(T (&own)[items_per_thread], const char *buffer) {
  if constexpr (Broadcasts)
#pragma unroll
    for (int k = 0; k < items_per_thread; ++k)
      own[k] = reinterpret_cast<const T *>(buffer)[thread_in_group() + k * group_threads];
}

// Combines the columns of a block over its thread groups, in their order. Every thread
// stores its columns in `gather`, the block synchronizes, and combine_groups adds the
// result to `to`; for the first rows of a panel it stores the result there.
template <class State> __device__ __forceinline__ void gather_columns(const State (&mine)[items_per_thread], char *gather) {
  if constexpr (thread_groups > 1)
#pragma unroll
    for (int k = 0; k < items_per_thread; ++k)
      reinterpret_cast<State *>(gather)[(group_of_thread() * items_per_thread + k) * group_threads + thread_in_group()] = mine[k];
}
template <class Kind>
__device__ __forceinline__ void combine_groups(const typename Kind::state (&mine)[items_per_thread], const row_range &rows, const char *gather, typename Kind::state *to) {
  if constexpr (thread_groups == 1) {
#pragma unroll
    for (int k = 0; k < items_per_thread; ++k)
      if (rows.has_column(k)) {
        const int c = rows.column(k);
        to[c] = rows.begin == 0 ? mine[k] : Kind::combine(to[c], mine[k]);
      }
  } else {
    constexpr int group_columns = items_per_thread * group_threads;
    auto *const all = reinterpret_cast<const typename Kind::state *>(gather);
#pragma unroll (thread_groups > 2 ? (group_columns - 1) / block_threads + 1 : 4)
    for (int k = 0; k < (group_columns - 1) / block_threads + 1; ++k) {
      const int c = threadIdx.x + k * block_threads;
      if (c >= rows.width)
        break;
      auto state = all[c];
#pragma unroll
      for (int group = 1; group < thread_groups; ++group)
        state = Kind::combine(state, all[group * group_columns + c]);
      to[c] = rows.begin == 0 ? state : Kind::combine(to[c], state);
    }
  }
}

} // namespace heddle

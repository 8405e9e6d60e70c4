// panel_columns.cuh: columns that several crews of a block have.
#pragma once
#include "panel_class.cuh"

namespace heddle {

// Whether this thread of a crew has a `k`th column: column `c` of `width`. Where
// members have about the same width all but the last are there.
template <int Items> __device__ __forceinline__ bool has_column(int k, int c, int width) {
  return !HEDDLE_PANEL_RAGGED && k < Items - 1 ? true : c < width;
}

// Where many crews have the same columns, and there is room, each thread finds
// out about a few of them, and tells the others by way of `gather`; in a team
// there is room behind it. Two crews would save less than the block waits for.
template <class State, int OwnRoom> constexpr int room_of_column = crews <= 2 ? 0 : HEDDLE_PANEL_TEAM ? OwnRoom : crews * sizeof(State);
constexpr bool has_own_room = HEDDLE_PANEL_TEAM > 0;
template <bool Tells, int Items> constexpr int columns_found = Tells ? (Items * crew_threads - 1) / HEDDLE_PANEL_THREADS + 1 : Items;
template <bool Tells> __device__ __forceinline__ int column_found(int k) {
  return Tells ? threadIdx.x + k * HEDDLE_PANEL_THREADS : thread_of_crew() + k * crew_threads;
}
template <bool Tells, int Items> __device__ __forceinline__ bool finds_column(int k, int width) {
  const int c = column_found<Tells>(k);
  return Tells ? c < width : has_column<Items>(k, c, width);
}
template <bool Tells, class T, int Items> __device__ __forceinline__ void tell_columns(const T (&found)[Items], char *gather) {
  if constexpr (Tells)
#pragma unroll
    for (int k = 0; k < columns_found<Tells, Items>; ++k)
      if (const int c = column_found<Tells>(k); c < Items * crew_threads)
        reinterpret_cast<T *>(gather)[c] = found[k];
}
template <bool Tells, class T, int Items> __device__ __forceinline__ void hear_columns(T (&found)[Items], const char *gather) {
  if constexpr (Tells)
#pragma unroll
    for (int k = 0; k < Items; ++k)
      found[k] = reinterpret_cast<const T *>(gather)[thread_of_crew() + k * crew_threads];
}

// What the crews of a block have of its columns: every thread leaves it in
// `gather`, the block meets, and it is combined in the order of the crews: calls
// `take(c, state)` for column `c` in one thread.
template <class State, int Items> __device__ __forceinline__ void leave_columns(const State (&mine)[Items], char *gather) {
  if constexpr (crews > 1)
#pragma unroll
    for (int k = 0; k < Items; ++k)
      reinterpret_cast<State *>(gather)[(crew_of_thread() * Items + k) * crew_threads + thread_of_crew()] = mine[k];
}
template <class Kind, int Items, class Take>
__device__ __forceinline__ void over_crews(const typename Kind::state (&mine)[Items], int width, const char *gather, const Take &take) {
  if constexpr (crews == 1) {
#pragma unroll
    for (int k = 0; k < Items; ++k)
      if (const int c = threadIdx.x + k * crew_threads; has_column<Items>(k, c, width))
        take(c, mine[k]);
  } else {
    constexpr int of_crew = Items * crew_threads;
    auto *const all = reinterpret_cast<const typename Kind::state *>(gather);
#pragma unroll (crews > 2 ? (of_crew - 1) / HEDDLE_PANEL_THREADS + 1 : 4)
    for (int k = 0; k < (of_crew - 1) / HEDDLE_PANEL_THREADS + 1; ++k) {
      const int c = threadIdx.x + k * HEDDLE_PANEL_THREADS;
      if (c >= width)
        break;
      auto state = all[c];
#pragma unroll
      for (int crew = 1; crew < crews; ++crew)
        state = Kind::combine(state, all[crew * of_crew + c]);
      take(c, state);
    }
  }
}

} // namespace heddle

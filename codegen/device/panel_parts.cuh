// panel_parts.cuh: the parts of reductions over columns and over the member.
//
// They reach the block that combines them through a scratch area or, with a cluster per
// member, through its shared memory.
#pragma once
#include "panel_messages.cuh"
#include "panel_reduction.cuh"

namespace heddle {

// The parts of one column, in the order of the panels.
template <class State> struct column_parts {
  const State *first;
  long long step;
};

// The parts of reduction `Number` over columns.
template <class State, int Number> class parts_of_columns {
  static constexpr int columns_of_block = sends_messages ? max_combined : 1;
  struct shared_parts {
    alignas(16) State own[cluster_per_member ? member_columns : 1];
    alignas(16) State received[sends_messages ? panels : 1][columns_of_block];
  };
  static __device__ __forceinline__ shared_parts &parts() {
    __shared__ shared_parts of_block;
    return of_block;
  }

public:
  // The parts of panel `panel` that this block writes, indexed by its own columns.
  static __device__ __forceinline__ State *own(State *scratch, int panel, long long columns) {
    return cluster_per_member ? parts().own : scratch + panel * columns + position().first_column;
  }
  // Sends the panel's parts to the blocks of the cluster per member. The block has
  // synchronized since it wrote them.
  static __device__ __forceinline__ void send_own(int panel, int columns) {
#pragma unroll 1
    for (int c = threadIdx.x * message_columns; c < columns; c += block_threads * message_columns) {
      const int block = static_cast<unsigned>(c) / static_cast<unsigned>(position().column_slice);
      send(reinterpret_cast<message<State> *>(&parts().received[panel][c - block * position().column_slice]),
           *reinterpret_cast<const message<State> *>(&parts().own[c]), member_barrier::columns(), block);
    }
  }
  // The parts of `column`, the `k`th column that this block combines. The blocks have
  // synchronized.
  static __device__ __forceinline__ column_parts<State> of(const State *scratch, long long columns, long long column, int k) {
    if constexpr (sends_messages)
      return {&parts().received[0][k], &parts().received[1][k] - &parts().received[0][k]};
    else if constexpr (cluster_per_member)
      return {&parts().own[k], 0};
    return {scratch + column, columns};
  }
};

// Combines the parts of run `run`, in the order of the panels. Only the first `used`
// panels have rows. All loads are issued before the first part is used.
template <class Kind> __device__ __forceinline__ typename Kind::state combine_panels(int used, int run, column_parts<typename Kind::state> all) {
  constexpr int run_panels = panels / panel_runs;
  const int left = used - run * run_panels;
  const typename Kind::state *part = all.first + run * run_panels * all.step;
  typename Kind::state parts[run_panels], sum = Kind::neutral();
#pragma unroll
  for (int k = 0; k < run_panels; ++k, part += all.step)
    parts[k] = k < left ? *part : Kind::neutral();
#pragma unroll
  for (int k = 0; k < run_panels; ++k)
    sum = k < left ? Kind::combine(sum, parts[k]) : sum;
  return sum;
}

// The parts of reduction `Number` over the member, which the last block combines. They
// come from the row warps if the reduction is over rows (`OfRows`), otherwise from all
// threads.
template <class Kind, int Number, bool OfRows> class parts_of_member {
  using state = typename Kind::state;
  static constexpr int panel_parts = cluster_per_member && OfRows ? row_warps : 1;
  static __device__ __forceinline__ state *received() {
    alignas(8) __shared__ state parts[cluster_per_member ? panels * panel_parts : 1];
    return parts;
  }
  static __device__ __forceinline__ void send_to_last(state *to, state mine) {
    if constexpr (sends_messages)
      send(to, mine, member_barrier::columns(), position().blocks - 1);
    else
      *to = mine;
  }

public:
  // Publishes the panel's part, combined from each thread's `mine`.
  static __device__ __forceinline__ void publish(state *scratch, int panel, state mine) {
    if constexpr (cluster_per_member && OfRows) {
      const int warp = (block_threads - 1 - threadIdx.x) / 32;
      if (warp < panel_parts) {
        mine = combine_warp<Kind>(mine);
        if (threadIdx.x % 32 == 0)
          send_to_last(received() + warp * panels + panel, mine);
      }
    } else if constexpr (OfRows) {
      if (!is_row_thread())
        return;
      __shared__ state of_warp[row_warps];
      mine = combine_warp<Kind>(mine);
      if (threadIdx.x % 32 == 0)
        of_warp[row_warps - 1 - (block_threads - 1 - threadIdx.x) / 32] = mine;
      sync_row_threads();
      if (threadIdx.x != block_threads - 1 || position().rank != 0)
        return;
      mine = of_warp[0];
#pragma unroll
      for (int warp = 1; warp < row_warps; ++warp)
        mine = Kind::combine(mine, of_warp[warp]);
      scratch[panel] = mine;
    } else {
      mine = over_block<Kind, block_threads>(mine);
      if (threadIdx.x != 0 || position().rank != 0)
        return;
      if constexpr (cluster_per_member)
        send_to_last(received() + panel, mine);
      else
        scratch[panel] = mine;
    }
  }
  // Bytes that the last block receives.
  static constexpr unsigned bytes = panels * panel_parts * sent_bytes<state>;
  // Combines all parts; every thread has the result.
  static __device__ __forceinline__ state combine_all(const state *scratch) {
    if constexpr (cluster_per_member && panels * panel_parts <= 32) {
      const int lane = threadIdx.x % 32;
      return combine_warp<Kind>(lane < panels * panel_parts ? received()[lane] : Kind::neutral());
    } else {
      const state *const states = cluster_per_member ? received() : scratch;
      const int count = position().panels_in_use() * panel_parts;
      state mine = Kind::neutral();
      // A thread has one part, unless blocks are small. over_states is unrolled for
      // many parts, and would take a thirtieth of the compilation time of a loop in
      // double.
#pragma unroll
      for (int first = 0; first < panels * panel_parts; first += block_threads) {
        const int k = first + threadIdx.x;
        const state part = states[k < count ? k : 0];
        mine = Kind::combine(mine, k < count ? part : Kind::neutral());
      }
      return over_block<Kind, block_threads>(mine);
    }
  }
};

// Combines the member's columns; every thread has the result.
template <class Kind, class T> __device__ __forceinline__ typename Kind::state over_columns(const T *values, long long columns) {
  typename Kind::state mine = Kind::neutral();
#pragma unroll 1
  for (long long column = threadIdx.x; column < columns; column += block_threads)
    mine = Kind::combine(mine, Kind::lift(values[column], column));
  return over_block<Kind, block_threads>(mine);
}

} // namespace heddle

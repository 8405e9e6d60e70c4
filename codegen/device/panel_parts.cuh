// panel_parts.cuh: what panels have of columns and of the member, on its way to the
// blocks that combine it.
#pragma once
#include "panel_meeting.cuh"

namespace heddle {

// What panels have of one column, panel after panel.
template <class State> struct column_parts {
  const State *first;
  long long step;
};

// What panels have of columns, on its way to the blocks that combine them: through
// scratch memory, or, in a team, from shared memory to shared memory. Number
// `Number` of the reductions of columns.
template <class State, int Number> class parts_of_columns {
  static constexpr bool in_team = HEDDLE_PANEL_TEAM > 0;
  static constexpr int most_of_block = in_team ? most_combined : 1;
  struct shared_parts {
    alignas(16) State own[in_team ? team_columns : 1];
    alignas(16) State given[in_team ? panels : 1][most_of_block];
  };
  static __device__ __forceinline__ shared_parts &all() {
    __shared__ shared_parts parts;
    return parts;
  }

public:
  // Those of panel `panel` that this block writes, by its own columns.
  static __device__ __forceinline__ State *own(State *scratch, const panel_place &at, int panel, long long columns) {
    return in_team ? all().own : scratch + panel * columns + at.first_column;
  }
  // Those of a team are complete, and the block has met since.
  static __device__ __forceinline__ void give(const panel_place &at, int panel, int columns) {
#pragma unroll 1
    for (int c = threadIdx.x * sent_columns; c < columns; c += HEDDLE_PANEL_THREADS * sent_columns) {
      const int block = static_cast<unsigned>(c) / static_cast<unsigned>(at.share);
      send(reinterpret_cast<message<State> *>(&all().given[panel][c - block * at.share]), *reinterpret_cast<const message<State> *>(&all().own[c]),
           member_meeting::columns(), block);
    }
  }
  // Those for a column that this block combines, `k`th of its own; the blocks have
  // met.
  static __device__ __forceinline__ column_parts<State> of(const State *scratch, long long columns, long long column, int k) {
    if constexpr (in_team)
      return {&all().given[0][k], &all().given[1][k] - &all().given[0][k]};
    return {scratch + column, columns};
  }
};

// What the panels of group `group` have, of `used` panels that have rows, in their
// order. All are asked for before the first is there.
template <class Kind> __device__ __forceinline__ typename Kind::state over_panels(int used, int group, column_parts<typename Kind::state> all) {
  constexpr int of_group = panels / panel_groups;
  const int left = used - group * of_group;
  const typename Kind::state *part = all.first + group * of_group * all.step;
  typename Kind::state parts[of_group], sum = Kind::neutral();
#pragma unroll
  for (int k = 0; k < of_group; ++k, part += all.step)
    parts[k] = k < left ? *part : Kind::neutral();
#pragma unroll
  for (int k = 0; k < of_group; ++k)
    sum = k < left ? Kind::combine(sum, parts[k]) : sum;
  return sum;
}

// The way of what panels have of the member, which the last block combines: of
// its rows (`OfRows`), which the last threads of a block have, or of its columns.
template <class Kind, int Number, bool OfRows> class parts_of_member {
  using state = typename Kind::state;
  static constexpr bool in_team = HEDDLE_PANEL_TEAM > 0;
  static constexpr int of_panel = in_team && OfRows ? row_warps : 1;
  static __device__ __forceinline__ state *given() {
    alignas(8) __shared__ state parts[in_team ? panels * of_panel : 1];
    return parts;
  }

public:
  // What this thread has of the panel.
  static __device__ __forceinline__ void give(state *scratch, const panel_place &at, int panel, state mine) {
    if constexpr (in_team && OfRows) {
      const int warp = (HEDDLE_PANEL_THREADS - 1 - threadIdx.x) / 32;
      if (warp < of_panel) {
        mine = over_warp<Kind>(mine);
        if (threadIdx.x % 32 == 0)
          send(given() + panel * of_panel + warp, mine, member_meeting::columns(), at.blocks - 1);
      }
    } else if constexpr (OfRows) {
      if (!sees_to_rows())
        return;
      __shared__ state of_warp[row_warps];
      mine = over_warp<Kind>(mine);
      if (threadIdx.x % 32 == 0)
        of_warp[row_warps - 1 - (HEDDLE_PANEL_THREADS - 1 - threadIdx.x) / 32] = mine;
      meet_rows();
      if (threadIdx.x != HEDDLE_PANEL_THREADS - 1 || at.rank != 0)
        return;
      mine = of_warp[0];
#pragma unroll
      for (int warp = 1; warp < row_warps; ++warp)
        mine = Kind::combine(mine, of_warp[warp]);
      scratch[panel] = mine;
    } else {
      mine = over_block<Kind, HEDDLE_PANEL_THREADS>(mine);
      if (threadIdx.x != 0 || at.rank != 0)
        return;
      if constexpr (in_team)
        send(given() + panel, mine, member_meeting::columns(), at.blocks - 1);
      else
        scratch[panel] = mine;
    }
  }
  // What the last block is sent.
  static constexpr unsigned bytes = panels * of_panel * sent_bytes<state>;
  // All of it, in every thread.
  static __device__ __forceinline__ state all(const state *scratch, const panel_place &at) {
    if constexpr (in_team && panels * of_panel <= 32) {
      const int lane = threadIdx.x % 32;
      return over_warp<Kind>(lane < panels * of_panel ? given()[lane] : Kind::neutral());
    } else {
      const state *const states = in_team ? given() : scratch;
      const int count = at.panels_in_use() * of_panel;
      state mine = Kind::neutral();
      // A thread has one, unless blocks are small: over_states, which is unrolled for
      // many, is a thirtieth of the compilation of a loop in double.
#pragma unroll
      for (int first = 0; first < panels * of_panel; first += HEDDLE_PANEL_THREADS) {
        const int k = first + threadIdx.x;
        const state part = states[k < count ? k : 0];
        mine = Kind::combine(mine, k < count ? part : Kind::neutral());
      }
      return over_block<Kind, HEDDLE_PANEL_THREADS>(mine);
    }
  }
};

} // namespace heddle

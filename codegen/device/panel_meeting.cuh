// panel_meeting.cuh: the blocks that share a member, where they meet, and what they
// hand on from trip to trip.
#pragma once
#include "panel_rows.cuh"
#include "grid.cuh"

namespace heddle {

// What a block looks up now and then: registers are for columns.
struct panel_place {
  int team, teams;   // of blocks that share a member
  int block, blocks; // within the team
  int rank;          // within the cluster that shares a panel
  int unit, units;   // clusters of the team
  int limit;         // of trips
  // Of the member: panels that have rows, the columns of this block, and the rows
  // of its first panel.
  int used, width, height;
  long long first_column, first_row;
  // In a team, what a block is sent in a trip.
  unsigned bytes_of_parts, bytes_of_values;
  // Columns that this block combines: every `column_step`th one from the first,
  // in a team; the last block has the member to see to.
  int combined;
  long long first_combined;
  static constexpr int column_step = HEDDLE_PANEL_TEAM ? HEDDLE_PANEL_TEAM - 1 : 1;
  __device__ __forceinline__ int panels_in_use() const { return HEDDLE_PANEL_TEAM ? panels : used; }
  __device__ __forceinline__ long long first_of(int panel, long long rows) const {
    return panel == unit ? first_row : first_of_panel(panel, rows);
  }
  __device__ __forceinline__ int rows_of(int panel, long long rows) const { return panel == unit ? height : rows_of_panel(panel, rows); }
  __device__ __forceinline__ long long column(int k) const { return first_combined + static_cast<long long>(k) * column_step; }
};

// Where the block is in the member. By one thread.
template <int Cluster> __device__ __forceinline__ void find_member(panel_place &at, long long rows, long long columns) {
  at.used = panels_used(rows);
  at.width = width_of<Cluster>(columns, at.rank);
  at.first_column = at.rank * share_of<Cluster>(columns);
  at.first_row = first_of_panel(at.unit, rows);
  at.height = rows_of_panel(at.unit, rows);
  const int sharing = at.blocks > 1 ? at.blocks - 1 : 1;
  const long long share = (columns + sharing - 1) / sharing;
  at.first_combined = HEDDLE_PANEL_TEAM ? at.block : at.block * share;
  const long long left = HEDDLE_PANEL_TEAM ? (columns - at.block + sharing - 1) / sharing : columns - at.first_combined;
  at.combined = at.block >= sharing || left < 0 ? 0 : left < share ? left : share;
}

template <int Cluster> __device__ __forceinline__ void find_place(panel_place &at, int limit) {
  constexpr int team_blocks = HEDDLE_PANEL_TEAM;
  const int blocks = team_blocks ? team_blocks : gridDim.x;
  at.team = blockIdx.x / blocks;
  at.teams = gridDim.x / blocks;
  at.block = blockIdx.x % blocks;
  at.blocks = blocks;
  at.rank = Cluster == 1 ? 0 : cluster_rank();
  at.unit = at.block / Cluster;
  at.units = blocks / Cluster;
  at.limit = limit;
}

// Where the blocks that share a member meet, twice in a trip: for what panels have
// of columns, and for what follows from it. What rows leave behind may be on its
// way yet after the first; who needs it waits.
//
// The blocks of a grid count those that have come. Those of a team wait for what is
// sent to them, so many bytes. Who has begun a trip sends its part of the member to
// the last block, which sends the member's values to all: nobody is sent anything
// of a trip before it has begun the one before.
class member_meeting {
  static constexpr bool in_team = HEDDLE_PANEL_TEAM > 0;
  struct shared_meeting {
    arrival columns, values;
    int rows_left[row_warps]; // trips after which they have left all behind
  };
  static __device__ __forceinline__ shared_meeting &all() {
    __shared__ shared_meeting meeting;
    return meeting;
  }

public:
  static constexpr int words = 64; // of scratch memory
  // The cluster meets before the first trip.
  __device__ __forceinline__ explicit member_meeting(unsigned *word) : blocks(word), rows(word + words / 2) {
    if (in_team && threadIdx.x == 0) {
      arrival_init(&all().columns, 1);
      arrival_init(&all().values, 1);
      arrival_init_fence();
    }
    if (in_team && threadIdx.x < row_warps)
      all().rows_left[threadIdx.x] = 0;
  }
  // On which a team waits for parts of columns and of the member, and for values.
  static __device__ __forceinline__ arrival *columns() { return &all().columns; }
  static __device__ __forceinline__ arrival *values() { return &all().values; }

  // A trip begins, and the block meets before it sends anything.
  __device__ __forceinline__ void begin(const panel_place &at) {
    if (in_team && threadIdx.x == 0) {
      arrival_expect(columns(), at.bytes_of_parts);
      arrival_expect(values(), at.bytes_of_values);
    }
  }
  // What this block has of the columns is complete.
  __device__ __forceinline__ void give_columns() {
    if constexpr (!in_team)
      blocks.come();
  }
  // And what its rows leave behind: the columns of all blocks are there.
  __device__ __forceinline__ void meet_columns(const panel_place &at) {
    if constexpr (in_team) {
      const int warp = (HEDDLE_PANEL_THREADS - 1 - threadIdx.x) / 32;
      if (warp < row_warps) {
        fence_cluster();
        if (threadIdx.x % 32 == 0)
          *static_cast<volatile int *>(&all().rows_left[warp]) = trips + 1;
      }
      arrival_wait(columns(), trips & 1);
      // A block that is sent nothing waits for nobody: no thread may begin the next
      // trip before the others have seen this one.
      if (at.bytes_of_parts == 0)
        __syncthreads();
    } else {
      rows.come();
      blocks.wait();
    }
  }
  // What panels have of the member is there, too.
  __device__ __forceinline__ void meet_member() const {
    if constexpr (!in_team)
      rows.wait();
  }
  // And all that rows leave behind.
  __device__ __forceinline__ void wait_for_rows() const {
    if constexpr (in_team) {
#pragma unroll 1
      for (int k = threadIdx.x; k < HEDDLE_PANEL_TEAM * row_warps; k += HEDDLE_PANEL_THREADS)
        while (fetch_now(&all().rows_left[k % row_warps], k / row_warps) <= trips) {
        }
      fence_cluster();
      __syncthreads();
    } else {
      rows.wait();
    }
  }
  // What this block makes of columns and of the member is complete.
  __device__ __forceinline__ void give_values() {
    if constexpr (!in_team)
      blocks.come();
  }
  // That of all blocks is there, and the trip has ended.
  __device__ __forceinline__ void meet_values() {
    if constexpr (in_team) {
      arrival_wait(values(), trips & 1);
      ++trips;
    } else {
      blocks.wait();
    }
  }

private:
  grid_meeting<0> blocks;
  grid_meeting<1> rows;
  int trips = 0;
};

// What the trips of a team hand on of a member stays in its shared memory until
// the loop ends: of rows in the block that has them, of columns and of the member
// in every block. The pointers of the member's row of the table lead there.
//
// Copies values by all threads of the block.
template <class T> __device__ __forceinline__ void copy_values(T *to, const T *from, long long count) {
#pragma unroll 1
  for (int k = threadIdx.x; k < count; k += HEDDLE_PANEL_THREADS)
    to[k] = from[k];
}
// Threads that combine a column, all of them the same in a team, and otherwise a
// group of panels each; and threads that see to the member.
constexpr int column_threads = HEDDLE_PANEL_TEAM >= 8 ? 8 : HEDDLE_PANEL_TEAM ? HEDDLE_PANEL_TEAM : panel_groups;
constexpr int member_threads = HEDDLE_PANEL_TEAM ? HEDDLE_PANEL_TEAM : 1;
// Stores a value of a column, or of the member, for all blocks; done by `Threads`
// threads, of which this is number `thread`. Teams keep at least a word for it.
template <int Threads, class T, class Value> __device__ __forceinline__ void hand_on(T *to, Value value, int thread) {
  const T stored = value;
#if HEDDLE_PANEL_TEAM
  static_assert(HEDDLE_PANEL_TEAM % Threads == 0, "as many blocks for each");
#pragma unroll
  for (int k = 0; k < HEDDLE_PANEL_TEAM / Threads; ++k)
    send(to, stored, member_meeting::values(), thread * (HEDDLE_PANEL_TEAM / Threads) + k);
#else
  *to = stored;
#endif
}
// Of values of rows that of row `row`, which may be another block's.
template <class T> __device__ __forceinline__ T of_row(const T *values, long long row, const panel_place &at, long long rows) {
#if HEDDLE_PANEL_TEAM
  const int panel = rows < panels ? row : (row * panels + panels - 1) / rows;
  return fetch(values + at.first_row + (row - first_of_panel(panel, rows)), panel);
#else
  return values[row];
#endif
}

} // namespace heddle

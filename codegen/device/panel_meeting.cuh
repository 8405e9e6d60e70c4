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
  // Columns that this block combines, and those before it at most; the last block
  // has the member to see to.
  int combined, share;
  long long first_combined;
  __device__ __forceinline__ int panels_in_use() const { return HEDDLE_PANEL_TEAM ? panels : used; }
  __device__ __forceinline__ long long first_of(int panel, long long rows) const {
    return panel == unit ? first_row : first_of_panel(panel, rows);
  }
  __device__ __forceinline__ int rows_of(int panel, long long rows) const { return panel == unit ? height : rows_of_panel(panel, rows); }
  __device__ __forceinline__ long long column(int k) const { return first_combined + k; }
};

// Blocks of a team send each other columns in groups of four: a message costs the
// same whether it is long or short.
constexpr int sent_columns = 4;
constexpr __device__ __forceinline__ int in_messages(long long columns) {
  return static_cast<int>((columns + sent_columns - 1) / sent_columns * sent_columns);
}
template <class T> struct alignas(16) message { T element[sent_columns]; };
template <class T> __device__ __forceinline__ void swap(T &a, T &b) {
  const T was = a;
  a = b;
  b = was;
}

// What the four threads of a message have, of which this is number `k`.
template <class T> __device__ __forceinline__ message<T> over_four(T mine, int k) {
  T a = mine, b = shuffle_xor(mine, 1), c = shuffle_xor(mine, 2), d = shuffle_xor(mine, 3);
  if (k & 1) {
    swap(a, b);
    swap(c, d);
  }
  if (k & 2) {
    swap(a, c);
    swap(b, d);
  }
  return {{a, b, c, d}};
}

// Where the block is in the member. By one thread.
template <int Cluster> __device__ __forceinline__ void find_member(panel_place &at, long long rows, long long columns) {
  at.used = panels_used(rows);
  at.width = width_of<Cluster>(columns, at.rank);
  at.first_column = at.rank * share_of<Cluster>(columns);
  at.first_row = first_of_panel(at.unit, rows);
  at.height = rows_of_panel(at.unit, rows);
  const int sharing = at.blocks > 1 ? at.blocks - 1 : 1;
  // Columns of a class are few: a division in 32 bits is less text.
  const long long even = (static_cast<unsigned>(columns) + sharing - 1) / sharing, share = HEDDLE_PANEL_TEAM ? in_messages(even) : even;
  at.first_combined = at.block * share;
  const long long left = columns - at.first_combined;
  at.combined = at.block >= sharing || left < 0 ? 0 : left < share ? left : share;
  at.share = static_cast<int>(share);
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

// Columns that a block of a team combines at most. Threads that combine a column:
// in a team they do the same, and send it to some of the blocks each; otherwise each
// combines a group of panels. And threads that see to the member.
constexpr int most_combined = HEDDLE_PANEL_TEAM > 1 ? in_messages((team_columns - 1) / (HEDDLE_PANEL_TEAM - 1) + 1) : team_columns;
constexpr int column_threads = HEDDLE_PANEL_TEAM ? (HEDDLE_PANEL_TEAM - 1) / sent_columns + 1 : panel_groups;
constexpr int member_threads = HEDDLE_PANEL_TEAM ? HEDDLE_PANEL_TEAM : 1;
// Columns that a block combines at a time. Where they leave those warps free that
// see to rows, these meet the others when the next trip begins.
constexpr int combining_warps = (most_combined * column_threads + 31) / 32;
constexpr bool combines_apart = HEDDLE_PANEL_TEAM && 32 * (combining_warps + row_warps) <= HEDDLE_PANEL_THREADS;
constexpr int combining_threads = combines_apart ? 32 * combining_warps : HEDDLE_PANEL_THREADS;
constexpr int combined_at_once = combines_apart ? most_combined : HEDDLE_PANEL_THREADS / column_threads;
__device__ __forceinline__ bool combines() { return threadIdx.x < combining_threads; }
__device__ __forceinline__ void meet_combining() { first_threads_barrier<combining_threads, HEDDLE_PANEL_THREADS>(false); }
__device__ __forceinline__ bool any_combining(bool mine) { return first_threads_barrier<combining_threads, HEDDLE_PANEL_THREADS>(mine); }

// The warps that see to what rows leave behind, and where these meet.
__device__ __forceinline__ bool sees_to_rows() { return threadIdx.x >= HEDDLE_PANEL_THREADS - 32 * row_warps; }
__device__ __forceinline__ void meet_rows() { last_threads_barrier<32 * row_warps, HEDDLE_PANEL_THREADS>(); }

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
  // And what its rows leave behind, by the warps that see to them if `RowsAlone`:
  // the columns of all blocks are there.
  template <bool RowsAlone> __device__ __forceinline__ void meet_columns(const panel_place &at) {
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
      if constexpr (!RowsAlone)
        rows.come();
      else if (sees_to_rows()) {
        meet_rows();
        if (threadIdx.x == HEDDLE_PANEL_THREADS - 1)
          rows.come_alone();
      }
      blocks.wait();
    }
  }
  // What panels have of the member is there, too.
  __device__ __forceinline__ void meet_member() const {
    if constexpr (!in_team)
      rows.wait();
  }
  // And all that rows leave behind, for those who combine columns.
  __device__ __forceinline__ void wait_for_rows() const {
    if constexpr (in_team) {
#pragma unroll 1
      for (int k = threadIdx.x; k < HEDDLE_PANEL_TEAM * row_warps; k += combining_threads)
        while (fetch_now(&all().rows_left[k % row_warps], k / row_warps) <= trips) {
        }
      fence_cluster();
      meet_combining();
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
// Stores the value of a column that this block combines for all blocks. In a team
// the threads of a message have a column each, and each sends it to other blocks.
template <class T> __device__ __forceinline__ void hand_on_column(T *values, long long column, T value, bool is_there, int thread) {
#if HEDDLE_PANEL_TEAM
  const int k = threadIdx.x % sent_columns;
  const message<T> all = over_four(value, k);
  const bool any = over_four(static_cast<int>(is_there), k).element[0]; // the first is there, or none
  if (const int block = thread * sent_columns + k; any && thread < column_threads && block < HEDDLE_PANEL_TEAM)
    send(reinterpret_cast<message<T> *>(values + column - k), all, member_meeting::values(), block);
#else
  if (is_there)
    values[column] = value;
#endif
}
// Stores a value of the member for all blocks, by the first `member_threads`, each
// of which sends it to one. Teams keep at least a word for it.
template <class T, class Value> __device__ __forceinline__ void hand_on(T *to, Value value) {
  const T stored = value;
#if HEDDLE_PANEL_TEAM
  send(to, stored, member_meeting::values(), threadIdx.x);
#else
  *to = stored;
#endif
}
// Of values of rows that of row `row`, which may be another block's.
template <class T> __device__ __forceinline__ T of_row(const T *values, long long row, const panel_place &at, long long rows) {
#if HEDDLE_PANEL_TEAM
  const int panel = rows < panels ? row : static_cast<unsigned>(row * panels + panels - 1) / static_cast<unsigned>(rows);
  return fetch(values + at.first_row + (row - first_of_panel(panel, rows)), panel);
#else
  return values[row];
#endif
}

} // namespace heddle

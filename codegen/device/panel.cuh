// panel.cuh: rows of a member's matrices on their way to the blocks that keep
// its columns.
//
// A member's rows are cut into panels; how many panels there are is a constant of
// the class, never of the device, for the order in which a column's parts meet
// depends on it. A block takes panel after panel, its crews row after row in turn,
// and with several blocks to a panel (a cluster) each takes a share of the
// columns. docs/lowering.md describes a trip.
#pragma once
#include "access.cuh"
#include "grid.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "tables.cuh"

// The class of widths that the text is compiled for.
#ifndef HEDDLE_PANEL_THREADS
#define HEDDLE_PANEL_THREADS 64
#define HEDDLE_PANEL_CREWS 2   // of a block, a row each at a time
#define HEDDLE_PANEL_ROWS 1    // that a crew takes at a time; more only of a team
#define HEDDLE_PANEL_ITEMS 4   // columns of each thread
#define HEDDLE_PANEL_STAGES 4  // rows of a crew that are on their way at a time
#define HEDDLE_PANEL_CLUSTER 1 // blocks that share a panel
#define HEDDLE_PANEL_TEAM 0    // blocks of a cluster that has a member to itself; 0: the whole grid takes each
#define HEDDLE_PANEL_RAGGED 1  // whether members differ in width
#endif
#if HEDDLE_PANEL_TEAM
#define HEDDLE_PANEL_CLUSTER_DIMENSIONS __cluster_dims__(HEDDLE_PANEL_TEAM)
#elif HEDDLE_PANEL_CLUSTER > 1
#define HEDDLE_PANEL_CLUSTER_DIMENSIONS __cluster_dims__(HEDDLE_PANEL_CLUSTER)
#else
#define HEDDLE_PANEL_CLUSTER_DIMENSIONS
#endif

namespace heddle {

// As many panels as an H100 or H200 has room for clusters, or a team has blocks.
constexpr int panels = HEDDLE_PANEL_TEAM           ? HEDDLE_PANEL_TEAM
                       : HEDDLE_PANEL_CLUSTER == 1 ? 132
                       : HEDDLE_PANEL_CLUSTER == 2 ? 66
                       : HEDDLE_PANEL_CLUSTER == 4 ? 30
                                                   : 14;
// Rows and columns of a member that a team may have.
constexpr int team_rows = 1024, team_columns = 768;
// Rows whose own values a block keeps at a time; of a team all that it has.
#ifndef HEDDLE_PANEL_KEPT_ROWS
#define HEDDLE_PANEL_KEPT_ROWS 256
#endif
constexpr int panel_rows = HEDDLE_PANEL_TEAM ? team_rows / panels : HEDDLE_PANEL_KEPT_ROWS;
// A column's parts meet in groups of consecutive panels, and the groups then.
constexpr int panel_groups = HEDDLE_PANEL_TEAM ? 1 : panels % 11 == 0 ? 11 : panels % 10 == 0 ? 10 : 7;
static_assert(panels % panel_groups == 0, "groups are equally large");

// Panels that have rows, but one at least; a team uses all.
__device__ __forceinline__ int panels_used(long long rows) {
  return HEDDLE_PANEL_TEAM || rows >= panels ? panels : rows > 0 ? static_cast<int>(rows) : 1;
}
// Panels are rows one after the other: a block walks through few pages of memory.
__device__ __forceinline__ long long first_of_panel(int panel, long long rows) {
  return rows >= panels ? rows * panel / panels : panel;
}
__device__ __forceinline__ int rows_of_panel(int panel, long long rows) {
  return panel < rows ? static_cast<int>(first_of_panel(panel + 1, rows) - first_of_panel(panel, rows)) : 0;
}
// Threads that take a row together.
constexpr int crews = HEDDLE_PANEL_CREWS;
constexpr int crew_threads = HEDDLE_PANEL_THREADS / crews, crew_warps = crew_threads / 32;
static_assert(panel_rows % crews == 0, "a crew goes on with every row of its own");
static_assert(HEDDLE_PANEL_ROWS == 1 || HEDDLE_PANEL_TEAM, "rows that are taken together are all there");
__device__ __forceinline__ int crew_of_thread() { return crews == 1 ? 0 : threadIdx.x / crew_threads; }
__device__ __forceinline__ int thread_of_crew() { return crews == 1 ? threadIdx.x : threadIdx.x % crew_threads; }
__device__ __forceinline__ void meet_crew() { crew_barrier<crew_threads, HEDDLE_PANEL_THREADS>(crew_of_thread()); }

// Warps that see to what rows leave behind: the last of a block, for its first may
// have more columns to combine.
constexpr int row_warps = ((panel_rows < HEDDLE_PANEL_THREADS ? panel_rows : HEDDLE_PANEL_THREADS) + 31) / 32;

// Rows of `Matrices` matrices of one member, brought to shared memory by bulk
// copies: of each panel a crew takes every `crews`th row, `Stages` of them on their
// way at a time, in the order in which it takes them, trip after trip: the first
// rows of a trip are on their way while the one before ends. A crew whose rows fit
// all at once keeps them, as those of a team do.
//
// One thread of a crew asks for rows, and the others wait for it: where they lie
// is worked out before the first trip, for as many rows as the table holds.
template <int Stages, int Matrices> class row_queue {
  static constexpr bool in_team = HEDDLE_PANEL_TEAM > 0;
  static constexpr int table_rows = panel_rows / crews;
  // What is copied in bulk begins at a multiple of 16 and is as long; what of a
  // row's 16 bytes before or behind that is outside of the matrix is not touched,
  // and the rest of them is copied one by one.
  struct request {
    const char *from;
    unsigned bytes; // and, in the lowest bits, `before` and `behind`
    unsigned head;  // bytes in front of the row
  };
  static constexpr unsigned before = 1, behind = 2;
  struct shared_rows {
    const char *matrix[Matrices], *end[Matrices];
    long long row_bytes[Matrices]; // from one row to the next
    int width_bytes[Matrices], first_bytes[Matrices];
    long long rows;
    int first_panel, units;
    unsigned head[crews][Stages][Matrices];
    arrival full[crews][Stages];
    alignas(16) request table[crews][table_rows][Matrices];
  };
  static __device__ __forceinline__ shared_rows &all() {
    __shared__ shared_rows rows_of_member;
    return rows_of_member;
  }

public:
  // `bytes` of shared memory are there for a row of every matrix.
  __device__ __forceinline__ explicit row_queue(int bytes) : bytes(bytes) {
    // The text is compiled anew for every class: what is rare stays short.
#pragma unroll 1
    for (int k = threadIdx.x; k < crews * Stages; k += HEDDLE_PANEL_THREADS)
      arrival_init(&all().full[k / Stages][k % Stages], 1);
    arrival_init_fence();
    __syncthreads();
  }

  // Matrix `m` of the member that is opened next, whose rows lie `stride` elements
  // apart: of each row, `width` of its columns from `first_column`. By one thread.
  template <class T>
  __device__ __forceinline__ void take(int m, const T *matrix, long long stride, long long rows, long long columns, long long first_column, int width) {
    all().matrix[m] = reinterpret_cast<const char *>(matrix);
    all().end[m] = reinterpret_cast<const char *>(matrix + (rows - 1) * stride + columns);
    all().row_bytes[m] = stride * sizeof(T);
    all().first_bytes[m] = static_cast<int>(first_column * sizeof(T));
    all().width_bytes[m] = width * sizeof(T);
  }

  // The rows of every `units`th panel of the member. `take` comes before, and the
  // block has met since.
  __device__ __forceinline__ void open(int first_panel, int units, long long rows, int width) {
    const int crew = crew_of_thread();
    of_crew = 0;
#pragma unroll 1
    for (int p = first_panel; width > 0 && p < panels_used(rows); p += units)
      of_crew += rows_of_crew(p, rows, crew);
    if (threadIdx.x == 0) {
      all().rows = rows;
      all().first_panel = first_panel;
      all().units = units;
    }
    __syncthreads();
#pragma unroll 1
    for (int k = thread_of_crew(); k < table_rows && k < of_crew; k += crew_threads)
      for (int m = 0; m < Matrices; ++m)
        all().table[crew][k][m] = request_of(crew, k, m);
    at = 0;
    stays = of_crew <= Stages;
    ring = stays ? of_crew : Stages;
    __syncthreads(); // what lies in the stages has been read, too
    if (thread_of_crew() == 0) {
#pragma unroll 1
      for (int stage = 0; stage < ring; ++stage)
        ask(crew, stage, stage);
    }
    asked = ring < of_crew ? ring : 0;
    if constexpr (in_team)
      wait_for_all();
  }

  // Waits for the crew's next row, of which `row` says where its columns lie, and
  // where those of the row `b` rows behind.
  __device__ __forceinline__ void wait() {
    if (in_team || ring == 0)
      return; // they are all there; rows without columns
    arrival_wait(&all().full[crew_of_thread()][at], phases >> at & 1);
    phases ^= stays ? 0 : 1u << at;
  }
  template <class T> __device__ __forceinline__ const T *row(int m, int b) const {
    const int crew = crew_of_thread();
    return reinterpret_cast<const T *>(place(crew, at + b) + m * bytes + all().head[crew][at + b][m]);
  }
  // The crew has met since it read the row: its stage is free for another.
  __device__ __forceinline__ void next() {
    if constexpr (!in_team) {
      if (thread_of_crew() == 0 && !stays)
        ask(crew_of_thread(), asked, at);
      if (++asked == of_crew)
        asked = 0;
    }
    if ((at += HEDDLE_PANEL_ROWS) >= ring)
      at = 0;
  }

  // Waits for what is still on its way, and ends with the member; between trips.
  __device__ __forceinline__ void close() {
    if constexpr (!in_team)
      wait_for_all();
  }

private:
  __device__ __forceinline__ void wait_for_all() {
#pragma unroll 1
    for (int k = 0; k < ring; ++k) {
      arrival_wait(&all().full[crew_of_thread()][at], phases >> at & 1);
      phases ^= 1u << at;
      if (++at == ring)
        at = 0;
    }
  }
  static __device__ __forceinline__ int rows_of_crew(int panel, long long rows, int crew) {
    const int all_rows = rows_of_panel(panel, rows);
    return all_rows > crew ? (all_rows - crew + crews - 1) / crews : 0;
  }
  __device__ __forceinline__ char *place(int crew, int stage) const {
    return dynamic_shared() + (crew * Stages + stage) * Matrices * bytes;
  }

  // Of the crew's row `k` of a trip.
  static __device__ __noinline__ request request_of(int crew, int k, int m) {
    int panel = all().first_panel;
    for (;; panel += all().units) {
      const int of_panel = rows_of_crew(panel, all().rows, crew);
      if (k < of_panel)
        break;
      k -= of_panel;
    }
    const long long row = first_of_panel(panel, all().rows) + crew + k * crews;
    const char *const begin = all().matrix[m] + row * all().row_bytes[m] + all().first_bytes[m];
    const unsigned head = static_cast<unsigned>(reinterpret_cast<unsigned long long>(begin) % 16);
    const char *from = begin - head, *until = from + (head + all().width_bytes[m] + 15) / 16 * 16;
    unsigned flags = 0;
    if (from < all().matrix[m]) {
      from += 16;
      flags |= before;
    }
    if (until > all().end[m]) {
      until -= 16;
      flags |= behind;
    }
    return {from, until > from ? static_cast<unsigned>(until - from) | flags : flags, head};
  }

  // The bytes of a row that its bulk copy leaves out.
  static __device__ __noinline__ void copy_ends(int m, request wanted, char *to) {
    const char *const first = wanted.bytes & before ? wanted.from - 16 : wanted.from;
    const char *const begin = first + wanted.head, *const end = begin + all().width_bytes[m];
    const char *const until = wanted.from + wanted.bytes / 16 * 16;
#pragma unroll 1
    for (const char *byte = begin; byte < end && byte < wanted.from; ++byte)
      to[byte - first] = *byte;
#pragma unroll 1
    for (const char *byte = until > begin ? until : begin; byte < end; ++byte)
      to[byte - first] = *byte;
    bulk_copy_fence();
  }

  // Asks for row `k` of the crew; by one thread.
  __device__ __forceinline__ void ask(int crew, int k, int stage) const {
    arrival *const full = &all().full[crew][stage];
    char *const to = place(crew, stage);
    request wanted[Matrices];
    unsigned total = 0;
#pragma unroll
    for (int m = 0; m < Matrices; ++m) {
      wanted[m] = k < table_rows ? all().table[crew][k][m] : request_of(crew, k, m);
      all().head[crew][stage][m] = wanted[m].head;
      if (wanted[m].bytes % 16)
        copy_ends(m, wanted[m], to + m * bytes);
      total += wanted[m].bytes / 16 * 16;
    }
    arrival_expect(full, total);
#pragma unroll
    for (int m = 0; m < Matrices; ++m)
      if (wanted[m].bytes >= 16)
        bulk_copy(to + m * bytes + (wanted[m].bytes & before ? 16 : 0), wanted[m].from, wanted[m].bytes / 16 * 16, full);
  }

  int bytes, at, ring; // the last two: stages
  int of_crew, asked;         // rows of the crew in a trip, and the next of them
  bool stays;
  unsigned phases = 0; // of each stage's barrier, one bit
};

// Columns that a block of a cluster takes, and how many the block of rank `rank`
// has of them.
template <int Cluster> __device__ __forceinline__ long long share_of(long long columns) {
  return (columns + Cluster - 1) / Cluster;
}
template <int Cluster> __device__ __forceinline__ int width_of(long long columns, int rank) {
  const long long share = share_of<Cluster>(columns), left = columns - rank * share;
  return static_cast<int>(left < 0 ? 0 : left < share ? left : share);
}

// Combines a few states of each lane of a warp; every lane has the results.
template <class Kind, int Count> __device__ __forceinline__ void over_warp(typename Kind::state (&mine)[Count]) {
#pragma unroll
  for (int mask = 16; mask; mask /= 2)
#pragma unroll
    for (int k = 0; k < Count; ++k)
      mine[k] = Kind::combine(mine[k], shuffle_xor(mine[k], mask));
}
template <class Kind> __device__ __forceinline__ typename Kind::state over_warp(typename Kind::state mine) {
  typename Kind::state one[1] = {mine};
  over_warp<Kind>(one);
  return one[0];
}

// The sums of the rows that a crew takes, over its warps, or those of the crews of
// a cluster that share them; number `Number` of a row's sums. What is there of two
// meetings at a time is enough: who begins with the rows after next has met all
// others since.
template <class Kind, int Cluster, int Number> class row_meeting {
  using state = typename Kind::state;
  static constexpr int parts = Cluster * crew_warps, of_crew = HEDDLE_PANEL_ROWS;
  static_assert(Cluster == 1 || of_crew == 1, "teams do not share rows");
  struct shared_parts {
    alignas(16) state part[crews][2][of_crew][parts];
    arrival bell[crews][2];
  };
  static __device__ __forceinline__ shared_parts &all() {
    __shared__ shared_parts parts_of_rows;
    return parts_of_rows;
  }

public:
  // The block, and the cluster, meet before the first row.
  __device__ __forceinline__ row_meeting() {
    if (Cluster > 1 && threadIdx.x < 2 * crews)
      arrival_init(&all().bell[threadIdx.x / 2][threadIdx.x % 2], 1);
    if (Cluster > 1)
      arrival_init_fence();
  }
  // What a thread has of the rows. Then the crew meets.
  __device__ __forceinline__ void leave(const state (&mine)[of_crew]) {
#pragma unroll
    for (int b = 0; b < of_crew; ++b)
      of_warp[b] = mine[b];
    over_warp<Kind>(of_warp);
    if constexpr (parts == 1)
      return;
    const int crew = crew_of_thread(), lane = threadIdx.x % 32, warp = thread_of_crew() / 32;
    auto &to = all().part[crew][meetings % 2];
    if constexpr (Cluster == 1) {
      if (lane == 0)
#pragma unroll
        for (int b = 0; b < of_crew; ++b)
          to[b][warp] = of_warp[b];
    } else {
      arrival *const bell = &all().bell[crew][meetings % 2];
      if (thread_of_crew() == 0)
        arrival_expect(bell, parts * sizeof(state));
      if (lane < Cluster)
        send(&to[0][cluster_rank() * crew_warps + warp], of_warp[0], bell, lane);
    }
  }
  // The sum of row `b` of them; the last one's at last.
  __device__ __forceinline__ state meet(int b) {
    if constexpr (parts == 1)
      return of_warp[b];
    const int crew = crew_of_thread();
    if (Cluster > 1)
      arrival_wait(&all().bell[crew][meetings % 2], meetings / 2 & 1);
    const state *const part = all().part[crew][meetings % 2][b];
    if (b == of_crew - 1)
      ++meetings;
    if constexpr (sizeof(state) <= 8 && parts % 4 == 0) {
      state sum[4] = {part[0], part[1], part[2], part[3]};
#pragma unroll
      for (int k = 4; k < parts; ++k)
        sum[k % 4] = Kind::combine(sum[k % 4], part[k]);
      return Kind::combine(Kind::combine(sum[0], sum[1]), Kind::combine(sum[2], sum[3]));
    } else {
      const int lane = threadIdx.x % 32;
      static_assert(parts <= 32, "a lane for each");
      return over_warp<Kind>(lane < parts ? part[lane] : Kind::neutral());
    }
  }

private:
  state of_warp[of_crew];
  unsigned meetings = 0;
};

// Where several crews have the same columns, and there is room, each thread finds
// out about a few of them, and tells the others by way of `gather`; in a team
// there is room behind it.
template <class State, int OwnRoom> constexpr int room_of_column = crews == 1 ? 0 : HEDDLE_PANEL_TEAM ? OwnRoom : crews * sizeof(State);
constexpr bool has_own_room = HEDDLE_PANEL_TEAM > 0;
template <bool Tells, int Items> constexpr int columns_found = Tells ? (Items * crew_threads - 1) / HEDDLE_PANEL_THREADS + 1 : Items;
template <bool Tells> __device__ __forceinline__ int column_found(int k) {
  return Tells ? threadIdx.x + k * HEDDLE_PANEL_THREADS : thread_of_crew() + k * crew_threads;
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
      if (const int c = threadIdx.x + k * crew_threads; c < width)
        take(c, mine[k]);
  } else {
    constexpr int of_crew = Items * crew_threads;
    auto *const all = reinterpret_cast<const typename Kind::state *>(gather);
#pragma unroll (crews > 2 ? (of_crew - 1) / HEDDLE_PANEL_THREADS + 1 : 1)
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

// Combines one state of each thread of the block; where it is rare: little text.
template <class Kind, int Threads> __device__ __noinline__ typename Kind::state over_block_rarely(typename Kind::state mine) {
  __shared__ typename Kind::state of_warp[Threads / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    if (round) {
      __syncthreads(); // what was combined before may still be read
      if (lane == 0)
        of_warp[threadIdx.x / 32] = mine;
      __syncthreads();
      mine = lane < Threads / 32 ? of_warp[lane] : Kind::neutral();
    }
#pragma unroll 1
    for (int mask = 16; mask; mask /= 2)
      mine = Kind::combine(mine, shuffle_xor(mine, mask));
  }
  return mine;
}

// The states of a cluster's blocks, combined in the order of their ranks.
template <class Kind, int Cluster> __device__ __forceinline__ typename Kind::state over_cluster(typename Kind::state mine) {
  if constexpr (Cluster == 1) {
    return mine;
  } else {
    __shared__ typename Kind::state all[Cluster];
    if (threadIdx.x < Cluster)
      put(&all[cluster_rank()], mine, threadIdx.x);
    cluster_barrier();
    typename Kind::state sum = all[0];
    for (int rank = 1; rank < Cluster; ++rank)
      sum = Kind::combine(sum, all[rank]);
    cluster_barrier(); // before anybody writes anew
    return sum;
  }
}

// exp and log in base 2, in which exponents need no argument reduction.
//
__device__ __forceinline__ unsigned high_word(double x) {
  return static_cast<unsigned>(static_cast<unsigned long long>(__double_as_longlong(x)) >> 32);
}
__device__ __forceinline__ double from_words(unsigned high, unsigned low) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(high) << 32 | low));
}
// 2^n times a polynomial for |x - n| <= 1/2, to 2^-53; no subnormal results. NaN
// is taken for +infinity, and found in the sum.
__device__ __forceinline__ double exp_2(double x) {
  const double shifter = 6755399441055744.0; // 1.5 * 2^52: what is added rounds x to an integer
  const double shifted = x + shifter, f = x - (shifted - shifter);
  double p = 4.4558179083360645e-10;
  p = fma(p, f, 7.074194297288521e-09);
  p = fma(p, f, 1.0178057087733941e-07);
  p = fma(p, f, 1.3215432535912375e-06);
  p = fma(p, f, 1.5252733841556773e-05);
  p = fma(p, f, 0.00015403530463724353);
  p = fma(p, f, 0.001333355814640647);
  p = fma(p, f, 0.009618129107587256);
  p = fma(p, f, 0.055504108664821625);
  p = fma(p, f, 0.24022650695910158);
  p = fma(p, f, 0.6931471805599453);
  p = fma(p, f, 1.0);
  // Words are compared and replaced: branches around the polynomial would keep
  // the exponentials of a thread apart.
  const unsigned of_x = high_word(x), infinite = 0x7ff00000;
  unsigned high = high_word(p) + (static_cast<unsigned>(__double_as_longlong(shifted)) << 20);
  unsigned low = static_cast<unsigned>(__double_as_longlong(p));
  const unsigned outside = of_x - 0x80000000u <= infinite ? 0 : infinite;
  if ((of_x & 0x7fffffff) >= 0x408ff000) { // beyond +-1022
    high = outside;
    low = 0;
  }
  return from_words(high, low);
}
__device__ __forceinline__ float log_2(float x) { return log2f(x); }
__device__ __forceinline__ double log_2(double x) { return log2(x); }
// Of a safe sum. To float first, and then what is missing, which is small.
__device__ __forceinline__ double rough_log_2(double x) {
  const unsigned high = high_word(x);
  const double fraction = from_words((high & 0xfffff) | 0x3ff00000, static_cast<unsigned>(__double_as_longlong(x)));
  const double first = rough_log_2(static_cast<float>(fraction));
  const double rest = fraction * exp_2(-first) - 1;
  const double more = rest * fma(rest, fma(rest, 0.33333333333333333, -0.5), 1.0);
  return static_cast<int>(high >> 20) - 1023 + fma(more, 1.4426950408889634074, first);
}
template <class T> __device__ __forceinline__ T per_bit(T x) { return x * static_cast<T>(1.4426950408889634074); }
template <class T> __device__ __forceinline__ T per_e(T x) { return x * static_cast<T>(0.69314718055994530942); }

// Whether sums of exponentials lost nothing that counts. A term vanishes below
// 2^-126 (in double 2^-1022), next to sums of rows of at least 2^-40. What is
// left of it in a column, after it is scaled by at most 2^30, is below 2^-96, and
// so is a term of at most 2^30 whose scale vanishes; sums of columns are at least
// 2^-60.
__device__ __forceinline__ bool is_safe_row(float sum) { return sum > 0x1p-40f && sum < 0x1p30f; }
__device__ __forceinline__ bool is_safe_row(double sum) { return sum > 0x1p-400 && sum < 0x1p400; }
__device__ __forceinline__ bool is_safe_scale(float scale) { return scale < 0x1p30f; }
__device__ __forceinline__ bool is_safe_scale(double scale) { return scale < 0x1p400; }
__device__ __forceinline__ bool is_safe_column(float sum) { return sum > 0x1p-60f && sum < 0x1p100f; }
__device__ __forceinline__ bool is_safe_column(double sum) { return sum > 0x1p-500 && sum < 0x1p900; }

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) < infinity<float>(); }
__device__ __forceinline__ bool is_nan(float x) { return x != x; }
__device__ __forceinline__ bool is_nan(double x) { return x != x; }
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) < infinity<double>(); }

// log2(sum(2^x)) around the running maximum.
template <class T> struct log_sum_2 {
  using state = log_sum<T>;
  static __device__ __forceinline__ state neutral() { return {-infinity<T>(), 0}; }
  static __device__ __forceinline__ state lift(T x) { return {x, x == -infinity<T>() ? T(0) : T(1)}; }
  static __device__ __forceinline__ state combine(state a, state b) {
    const T most = maximum(a.most, b.most);
    const T from_a = a.most == most ? a.sum : a.sum * exp_2(a.most - most);
    const T from_b = b.most == most ? b.sum : b.sum * exp_2(b.most - most);
    return {most, from_a + from_b};
  }
  static __device__ __forceinline__ T value(state s) { return s.most + log_2(s.sum); }
};

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

// Columns that a block of a team combines.
constexpr int most_combined = (team_columns - 1) / panel_place::column_step + 1;

// What panels have of columns, on its way to the blocks that combine them: through
// scratch memory, or, in a team, from shared memory to shared memory. Number
// `Number` of the reductions of columns.
template <class State, int Number> class parts_of_columns {
  static constexpr bool in_team = HEDDLE_PANEL_TEAM > 0;
  static constexpr int most_of_block = in_team ? most_combined : 1;
  struct shared_parts {
    State own[in_team ? team_columns : 1];
    alignas(8) State given[in_team ? panels : 1][most_of_block];
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
  // A part that is complete.
  static __device__ __forceinline__ void give(int panel, unsigned c, State part) {
    if constexpr (in_team)
      send(&all().given[panel][c / panel_place::column_step], part, member_meeting::columns(), c % panel_place::column_step);
  }
  // All of them, after a repair.
  static __device__ __noinline__ void give_all(int panel, int columns) {
#pragma unroll 1
    for (int c = threadIdx.x; c < columns; c += HEDDLE_PANEL_THREADS)
      give(panel, c, all().own[c]);
  }
  // That of panel `panel` for a column that this block combines, `k`th of its own;
  // the blocks have met.
  static __device__ __forceinline__ State get(const State *scratch, int panel, long long columns, long long column, int k) {
    return in_team ? all().given[panel][k] : scratch[panel * columns + column];
  }
};

// What the panels of group `group` have, of `used` panels that have rows, in their
// order: `part(panel)` reads it. All are asked for before the first is there.
template <class Kind, class Part> __device__ __forceinline__ typename Kind::state over_panels(int used, int group, const Part &part) {
  constexpr int of_group = panels / panel_groups;
  typename Kind::state parts[of_group], sum = Kind::neutral();
#pragma unroll
  for (int k = 0; k < of_group; ++k) {
    const int panel = group * of_group + k;
    parts[k] = part(panel < used ? panel : used - 1);
  }
#pragma unroll
  for (int k = 0; k < of_group; ++k)
    sum = group * of_group + k < used ? Kind::combine(sum, parts[k]) : sum;
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
      return over_states<Kind, HEDDLE_PANEL_THREADS>(in_team ? given() : scratch, at.panels_in_use() * of_panel);
    }
  }
};

} // namespace heddle

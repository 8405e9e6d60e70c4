// panel.cuh: rows of a member's matrices on their way to the blocks that keep
// its columns.
//
// A member's rows are cut into panels; how many panels there are is a constant of
// the class, never of the device, for the order in which a column's parts meet
// depends on it. A block takes panel after panel,
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
#define HEDDLE_PANEL_ITEMS 4   // columns of each thread
#define HEDDLE_PANEL_ROWS 2    // rows between two meetings, a power of two
#define HEDDLE_PANEL_STAGES 4  // as many rows each, on their way at a time
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
                                                   : 128 / HEDDLE_PANEL_CLUSTER;
// Rows and columns of a member that a team may have: what belongs to them lies
// apart in scratch memory.
constexpr int team_rows = 1024, team_columns = 768;
// Rows whose own values a block keeps at a time.
#ifndef HEDDLE_PANEL_KEPT_ROWS
#define HEDDLE_PANEL_KEPT_ROWS 256
#endif
constexpr int panel_rows = HEDDLE_PANEL_KEPT_ROWS;
// A column's parts meet in groups of consecutive panels, and the groups then.
constexpr int panel_groups = panels % 11 == 0 ? 11 : 4;
static_assert(panels % panel_groups == 0, "groups are equally large");

// Rows of `Matrices` matrices of one member, brought to shared memory by bulk
// copies, `Rows` a step, `Stages` steps at a time, in the order in which the block
// takes them, trip after trip: the first rows of a trip are on their way while the
// one before ends. The rows of a member that fit all at once stay.
//
// One thread asks for rows, and the others wait for it: where they lie is worked
// out before the first trip, for as many steps as the table holds.
template <int Stages, int Rows, int Matrices> class row_queue {
  static constexpr int table_steps = panel_rows / Rows;
  struct request {
    const char *from; // a multiple of 16
    unsigned bytes;   // a multiple of 16; 0: there is no such row
    unsigned head;    // bytes in front of the row
  };
  struct shared_rows {
    const char *matrix[Matrices], *end[Matrices];
    long long row_bytes[Matrices]; // from one row to the next
    int width_bytes[Matrices], first_bytes[Matrices];
    long long rows;
    int first_panel, units, steps;
    unsigned head[Stages][Rows][Matrices];
    arrival full[Stages];
    alignas(16) request table[table_steps * Rows * Matrices];
  };
  static __device__ __forceinline__ shared_rows &all() {
    __shared__ shared_rows rows_of_member;
    return rows_of_member;
  }

public:
  // `bytes` of shared memory are there for a row of every matrix.
  __device__ __forceinline__ explicit row_queue(int bytes) : bytes(bytes) {
    if (threadIdx.x < Stages)
      arrival_init(&all().full[threadIdx.x], 1);
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
    int steps = 0;
    for (int p = first_panel; width > 0 && p < used(rows); p += units)
      steps += (rows_of(p, rows) + Rows - 1) / Rows;
    if (threadIdx.x == 0) {
      all().rows = rows;
      all().first_panel = first_panel;
      all().units = units;
      all().steps = steps;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < table_steps * Rows && k < steps * Rows; k += HEDDLE_PANEL_THREADS)
      for (int m = 0; m < Matrices; ++m)
        all().table[k * Matrices + m] = request_of(k / Rows, k % Rows, m);
    at = freed = 0;
    stays = steps <= Stages;
    to_wait = stays ? steps : Stages;
    asked = stays ? 0 : Stages;
    __syncthreads(); // what lies in the stages has been read, too
    if (threadIdx.x == 0)
      for (int stage = 0; stage < to_wait; ++stage)
        ask(stage, stage, bytes);
  }

  // Panels that have rows, but one at least.
  static __device__ __forceinline__ int used(long long rows) {
    return rows >= panels ? panels : rows > 0 ? static_cast<int>(rows) : 1;
  }
  // Panels are rows one after the other: a block walks through few pages of memory.
  static __device__ __forceinline__ long long first_of(int panel, long long rows) {
    return rows >= panels ? rows * panel / panels : panel;
  }
  static __device__ __forceinline__ int rows_of(int panel, long long rows) {
    return panel < rows ? static_cast<int>(first_of(panel + 1, rows) - first_of(panel, rows)) : 0;
  }

  // Waits for the step that comes next, and says where the columns of its row
  // `q` lie.
  __device__ __forceinline__ void wait() {
    if (to_wait) {
      arrival_wait(&all().full[at], phases >> at & 1);
      phases ^= 1u << at;
      to_wait -= stays;
    }
  }
  template <class T> __device__ __forceinline__ const T *row(int q, int m) const {
    return reinterpret_cast<const T *>(dynamic_shared() + ((at * Rows + q) * Matrices + m) * bytes + all().head[at][q][m]);
  }
  // This warp is done with the step.
  __device__ __forceinline__ void advance() {
    if (++at >= (stays ? all().steps : Stages)) // there may be none
      at = 0;
  }
  // All warps are done with the oldest step: its stage is free for another.
  __device__ __forceinline__ void release() {
    if (stays)
      return;
    if (threadIdx.x == 0)
      ask(asked, freed, bytes);
    if (++asked == all().steps)
      asked = 0;
    if (++freed == Stages)
      freed = 0;
  }

  // Waits for what is still on its way, and ends with the member; between trips.
  __device__ __forceinline__ void close() {
    for (; to_wait > 0; --to_wait) {
      arrival_wait(&all().full[at], phases >> at & 1);
      phases ^= 1u << at;
      if (++at == Stages)
        at = 0;
    }
  }

private:
  // Row `q` of step `step` of a trip.
  static __device__ __noinline__ request request_of(int step, int q, int m) {
    int panel = all().first_panel;
    for (;; panel += all().units) {
      const int steps = (rows_of(panel, all().rows) + Rows - 1) / Rows;
      if (step < steps)
        break;
      step -= steps;
    }
    const int k = step * Rows + q;
    if (k >= rows_of(panel, all().rows))
      return {nullptr, 0, 0};
    const long long row = first_of(panel, all().rows) + k;
    const char *const begin = all().matrix[m] + row * all().row_bytes[m] + all().first_bytes[m];
    const unsigned head = static_cast<unsigned>(reinterpret_cast<unsigned long long>(begin) % 16);
    return {begin - head, (head + all().width_bytes[m] + 15) / 16 * 16, head};
  }

  // A row at one of the matrix's ends: nothing beside the matrix is touched, the
  // few bytes that do not fill 16 are copied one by one.
  static __device__ __noinline__ void ask_at_end(int m, request wanted, char *to, arrival *full) {
    const char *const begin = wanted.from + wanted.head, *const end = begin + all().width_bytes[m];
    const char *const inner = wanted.from < all().matrix[m] ? wanted.from + 16 : wanted.from;
    const char *until = wanted.from + wanted.bytes;
    if (until > all().end[m])
      until -= 16;
    for (const char *byte = begin; byte < end && byte < inner; ++byte)
      to[byte - wanted.from] = *byte;
    for (const char *byte = until > inner ? until : inner; byte < end; ++byte)
      to[byte - wanted.from] = *byte;
    bulk_copy_fence();
    if (until > inner) {
      arrival_more(full, static_cast<unsigned>(until - inner));
      bulk_copy(to + (inner - wanted.from), inner, static_cast<unsigned>(until - inner), full);
    }
  }

  // Asks for the rows of step `step`; by one thread. Bulk copies move multiples of
  // 16 bytes between multiples of 16. A function of its own: the registers of the
  // walk are for columns.
  static __device__ __noinline__ void ask(int step, int stage, int bytes) {
    arrival *const full = &all().full[stage];
    char *to = dynamic_shared() + stage * Rows * Matrices * bytes;
#pragma unroll
    for (int k = 0; k < Rows * Matrices; ++k, to += bytes) {
      const request wanted = step < table_steps ? all().table[step * Rows * Matrices + k] : request_of(step, k / Matrices, k % Matrices);
      all().head[stage][k / Matrices][k % Matrices] = wanted.head;
      if (wanted.bytes == 0)
        continue;
      if (wanted.from < all().matrix[k % Matrices] || wanted.from + wanted.bytes > all().end[k % Matrices]) {
        ask_at_end(k % Matrices, wanted, to, full);
      } else {
        arrival_more(full, wanted.bytes);
        bulk_copy(to, wanted.from, wanted.bytes, full);
      }
    }
    arrive(full);
  }

  int bytes, at, freed, asked, to_wait;
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

// Combines `Rows` values over a warp at once; lane l has that of value l % Rows.
template <class Kind, int Rows> __device__ __forceinline__ typename Kind::state over_warp(typename Kind::state (&mine)[Rows]) {
#pragma unroll
  for (int half = Rows / 2; half; half /= 2)
#pragma unroll
    for (int q = 0; q < half; ++q) {
      const bool upper = threadIdx.x & half;
      const typename Kind::state keep = upper ? mine[q + half] : mine[q], give = upper ? mine[q] : mine[q + half];
      mine[q] = Kind::combine(keep, shuffle_xor(give, half));
    }
#pragma unroll
  for (int mask = Rows; mask < 32; mask *= 2)
    mine[0] = Kind::combine(mine[0], shuffle_xor(mine[0], mask));
  return mine[0];
}

// What lane l has for row l % Rows, of row `q`.
template <int Rows, class T> __device__ __forceinline__ T of_row(T value, int q) {
  return Rows == 1 ? value : from_lane(value, q);
}

// The sums of the rows of a step over the warps of a block, or of a cluster. While
// they are on their way, the threads take the elements of the next step: a block
// meets once a step, which is faster than waiting for its warps one by one; of a
// cluster each warp waits, a step later, for what all have sent.
template <class Kind, int Warps, int Cluster, int Rows, int Number> class row_meeting {
  using state = typename Kind::state;
  static constexpr int slots = 4; // steps, more than can be under way
  static constexpr int parts = Cluster * Warps;
  struct shared_parts {
    state part[slots][parts * Rows]; // [warp][row]
    arrival bell[slots];
  };
  static __device__ __forceinline__ shared_parts &all() {
    __shared__ shared_parts parts_of_rows;
    return parts_of_rows;
  }

public:
  // The block, and the cluster, meet before the first step.
  __device__ __forceinline__ row_meeting() {
    if (Cluster > 1 && threadIdx.x < slots)
      arrival_init(&all().bell[threadIdx.x], 1);
    if (Cluster > 1)
      arrival_init_fence();
  }
  __device__ __forceinline__ void leave(state (&mine)[Rows]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slot = left++ % slots;
    const state sum = over_warp<Kind, Rows>(mine);
    state *const to = all().part[slot] + warp * Rows;
    if constexpr (Cluster == 1) {
      if (lane < Rows)
        to[lane] = sum;
    } else {
      if (threadIdx.x == 0)
        arrival_expect(&all().bell[slot], parts * Rows * sizeof(state));
      if (lane < Rows * Cluster)
        send(to + cluster_rank() * Warps * Rows + lane % Rows, sum, &all().bell[slot], lane / Rows);
    }
  }
  // The oldest step; lane l has the sum of its row l % Rows.
  __device__ __forceinline__ state meet() {
    const int lane = threadIdx.x % 32, slot = met % slots;
    if (Cluster > 1)
      arrival_wait(&all().bell[slot], met / slots & 1);
    ++met;
    state sum = Kind::neutral();
#pragma unroll
    for (int k = 0; k < parts * Rows; k += 32)
      if (parts * Rows % 32 == 0 || lane + k < parts * Rows)
        sum = Kind::combine(sum, all().part[slot][lane + k]);
#pragma unroll
    for (int mask = Rows; mask < 32; mask *= 2)
      sum = Kind::combine(sum, shuffle_xor(sum, mask));
    return sum;
  }

private:
  unsigned left = 0, met = 0;
};

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
  const long long n = __double_as_longlong(shifted) << 52;
  const double power = __longlong_as_double(__double_as_longlong(p) + n);
  return x <= -1022 ? 0 : x < 1022 ? power : infinity<double>();
}
__device__ __forceinline__ float log_2(float x) { return log2f(x); }
__device__ __forceinline__ double log_2(double x) { return log2(x); }
__device__ __forceinline__ double rough_log_2(double x) { return log2(x); }
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

// Where the blocks that share a member meet.
class member_meeting {
public:
  __device__ __forceinline__ explicit member_meeting(unsigned *word) : grid(word) {}
  __device__ __forceinline__ void meet() {
    if constexpr (HEDDLE_PANEL_TEAM == 0)
      grid.meet();
    else
      cluster_barrier();
  }

private:
  grid_meeting grid;
};

// What a block looks up now and then: registers are for columns.
struct panel_place {
  int team, teams;   // of blocks that share a member
  int block, blocks; // within the team
  int rank;          // within the cluster that shares a panel
  int unit, units;   // clusters of the team
  int first_panel, first_row, first_part; // of the team, in scratch memory
  int limit;         // of trips
  // Of the member: panels that have rows, and the columns of this block.
  int used, width;
  long long first_column;

  // Columns that a block combines: the last one has the member to see to.
  __device__ __forceinline__ long long share_of_columns(long long columns) const {
    const int sharing = blocks > 1 ? blocks - 1 : 1;
    return (columns + sharing - 1) / sharing;
  }
};

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
  at.first_panel = at.team * panels;
  at.first_row = at.team * team_rows;
  at.first_part = at.first_panel * team_columns;
  at.limit = limit;
}

} // namespace heddle

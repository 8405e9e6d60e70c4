// panel.cuh: rows of a member's matrices on their way to the blocks that keep
// its columns.
//
// A member's rows are dealt to panels, one row to each in turn; how many panels
// there are is a constant of the class, never of the device, for the order in
// which a column's parts meet depends on it. A block takes panel after panel,
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
// Rows of a member that a team may have, which lie apart in scratch memory.
constexpr int team_rows = 1024;
// Rows whose own values a block keeps at a time.
#ifndef HEDDLE_PANEL_KEPT_ROWS
#define HEDDLE_PANEL_KEPT_ROWS 256
#endif
constexpr int panel_rows = HEDDLE_PANEL_KEPT_ROWS;
// A column's parts meet in groups of consecutive panels, and the groups then.
constexpr int panel_groups = panels % 11 == 0 ? 11 : 4;
static_assert(panels % panel_groups == 0, "groups are equally large");

// Rows of `Matrices` matrices of one member, brought to shared memory by bulk
// copies, `Rows` a step, `Stages` steps at a time, in the order in which the block takes them,
// trip after trip: the first rows of a trip are on their way while the one
// before ends. The rows of a member that fit all at once stay. What only the
// asking thread needs lies in shared memory, too: registers are for columns.
template <int Stages, int Rows, int Matrices> class row_queue {
  struct asked_rows {
    const char *next[Matrices];          // the first byte that is wanted of the next row
    const char *matrix[Matrices], *end[Matrices];
    long long row_bytes[Matrices];       // from one row to the next
    int width_bytes[Matrices], first_bytes[Matrices];
    long long rows;
    int first_panel, units, panel, left; // rows left of the panel
    unsigned count; // steps that were asked for
    unsigned most;  // steps that are waited for at all
    int turn;       // stages before the first comes again
    int head[Stages][Rows][Matrices]; // bytes in front of a row
    arrival full[Stages];
  };
  static __device__ __forceinline__ asked_rows &ask() {
    __shared__ asked_rows all;
    return all;
  }

public:
  // `bytes` of shared memory are there for a row of every matrix.
  __device__ __forceinline__ explicit row_queue(int bytes) : bytes(bytes) {
    if (threadIdx.x < Stages)
      arrival_init(&ask().full[threadIdx.x], 1);
    arrival_init_fence();
    __syncthreads();
  }

  // Matrix `m` of the member that is opened next, whose rows lie `stride` elements
  // apart: of each row, `width` of its columns from `first_column`. By one thread.
  template <class T>
  __device__ __forceinline__ void take(int m, const T *matrix, long long stride, long long rows, long long columns, long long first_column, int width) {
    asked_rows &all = ask();
    all.matrix[m] = reinterpret_cast<const char *>(matrix);
    all.end[m] = reinterpret_cast<const char *>(matrix + (rows - 1) * stride + columns);
    all.row_bytes[m] = stride * sizeof(T);
    all.first_bytes[m] = static_cast<int>(first_column * sizeof(T));
    all.width_bytes[m] = width * sizeof(T);
  }

  // The rows of every `units`th panel of the member.
  __device__ __forceinline__ void open(int first_panel, int units, long long rows, int width) {
    at = 0;
    waited = 0;
    __syncthreads(); // what lies in the stages has been read
    if (threadIdx.x == 0) {
      asked_rows &all = ask();
      all.rows = rows;
      all.first_panel = first_panel;
      all.panel = first_panel - units;
      all.units = units;
      all.left = 0;
      all.count = 0;
      long long mine = 0;
      for (int p = first_panel; width > 0 && p < used(rows); p += units)
        mine += (rows_of(p, rows) + Rows - 1) / Rows;
      const bool stay = mine <= Stages;
      all.most = stay ? static_cast<unsigned>(mine) : ~0u;
      all.turn = stay ? static_cast<int>(mine) : Stages;
      for (int stage = 0; stage < all.turn; ++stage)
        next(stage, bytes);
    }
    __syncthreads();
  }

  // Panels that have rows, but one at least.
  static __device__ __forceinline__ int used(long long rows) {
    return rows >= panels ? panels : rows > 0 ? static_cast<int>(rows) : 1;
  }
  static __device__ __forceinline__ int rows_of(int panel, long long rows) {
    return panel < rows ? static_cast<int>((rows - panel + panels - 1) / panels) : 0;
  }

  // Waits for the step that comes next, and says where the columns of its row
  // `q` lie.
  __device__ __forceinline__ void wait() {
    if (waited != ask().most) {
      arrival_wait(&ask().full[at], phases >> at & 1);
      phases ^= 1u << at;
      ++waited;
    }
  }
  template <class T> __device__ __forceinline__ const T *row(int q, int m) const {
    return reinterpret_cast<const T *>(dynamic_shared() + ((at * Rows + q) * Matrices + m) * bytes + ask().head[at][q][m]);
  }
  // This warp is done with the step.
  __device__ __forceinline__ void advance() {
    if (++at == ask().turn)
      at = 0;
  }
  // All warps are done with the oldest step: its stage is free for another.
  __device__ __forceinline__ void release() {
    if (threadIdx.x == 0 && ask().most == ~0u)
      next(ask().count % Stages, bytes);
  }

  // Waits for what is still on its way, and ends with the member.
  __device__ __forceinline__ void close() {
    __syncthreads();
    for (at = waited % Stages; waited != ask().count; ++waited) {
      arrival_wait(&ask().full[at], phases >> at & 1);
      phases ^= 1u << at;
      if (++at == Stages)
        at = 0;
    }
  }

private:
  // The next panel that has rows of this block; once in a while.
  static __device__ __noinline__ void turn_to_next_panel() {
    asked_rows &all = ask();
    do {
      all.panel += all.units;
      if (all.panel >= used(all.rows))
        all.panel = all.first_panel;
      all.left = rows_of(all.panel, all.rows);
    } while (all.left == 0);
    for (int m = 0; m < Matrices; ++m)
      all.next[m] = all.matrix[m] + all.panel * all.row_bytes[m] + all.first_bytes[m];
  }
  // A row at one of the matrix's ends: nothing beside the matrix is touched, the
  // few bytes that do not fill 16 are copied one by one.
  static __device__ __noinline__ void ask_at_end(int m, const char *row, char *to, arrival *full) {
    const asked_rows &all = ask();
    const char *end = row + all.width_bytes[m];
    const char *from = row - reinterpret_cast<unsigned long long>(row) % 16;
    const char *until = end + -reinterpret_cast<unsigned long long>(end) % 16;
    const char *inner = from < all.matrix[m] ? from + 16 : from;
    if (until > all.end[m])
      until -= 16;
    for (const char *byte = row; byte < end && byte < inner; ++byte)
      to[byte - from] = *byte;
    for (const char *byte = until > inner ? until : inner; byte < end; ++byte)
      to[byte - from] = *byte;
    bulk_copy_fence();
    if (until > inner) {
      arrival_more(full, static_cast<unsigned>(until - inner));
      bulk_copy(to + (inner - from), inner, static_cast<unsigned>(until - inner), full);
    }
  }

  // Asks for the rows of the next step in order; by one thread, for which the
  // others wait. Bulk copies move multiples of 16 bytes between multiples of 16.
  // A function of its own: the registers of the walk are for columns.
  static __device__ __noinline__ void next(int stage, int bytes) {
    asked_rows &all = ask();
    if (all.left <= 0)
      turn_to_next_panel();
    arrival *const full = &all.full[stage];
#pragma unroll
    for (int m = 0; m < Matrices; ++m) {
      const char *row = all.next[m];
      const long long step = panels * all.row_bytes[m];
      const int width = all.width_bytes[m];
#pragma unroll
      for (int q = 0; q < Rows; ++q, row += step)
        if (Rows == 1 || q < all.left) {
          const unsigned head = static_cast<unsigned>(reinterpret_cast<unsigned long long>(row)) % 16;
          const unsigned size = (head + width + 15) / 16 * 16;
          char *const to = dynamic_shared() + ((stage * Rows + q) * Matrices + m) * bytes;
          all.head[stage][q][m] = head;
          if (row - head < all.matrix[m] || row - head + size > all.end[m]) {
            ask_at_end(m, row, to, full);
          } else {
            arrival_more(full, size);
            bulk_copy(to, row - head, size, full);
          }
        }
      all.next[m] = row;
    }
    all.left -= Rows;
    ++all.count;
    arrive(full);
  }

  int bytes, at;
  unsigned waited, phases = 0; // of each stage's barrier, one bit
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
// 2^-126 (in double 2^-1022); in a row whose sum is at least 2^-40, what its
// terms add to columns vanishes below 2^-86, next to sums of at least 2^-60.
__device__ __forceinline__ bool is_safe_row(float sum) { return sum > 0x1p-40f && sum < 0x1p40f; }
__device__ __forceinline__ bool is_safe_row(double sum) { return sum > 0x1p-400 && sum < 0x1p400; }
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
  __device__ __forceinline__ explicit member_meeting(unsigned long long *word) : grid(word) {}
  __device__ __forceinline__ void meet() {
    if constexpr (HEDDLE_PANEL_TEAM == 0)
      grid.meet();
    else
      cluster_barrier();
  }

private:
  grid_meeting grid;
};

} // namespace heddle

// panel_rows.cuh: rows on their way to the crews that take them, and their sums.
#pragma once
#include "panel_class.cuh"
#include "reduce.cuh"

namespace heddle {

// Rows of `Matrices` matrices of one member, brought to shared memory by bulk
// copies: of each panel a crew takes every `crews`th row, `Stages` of them on their
// way at a time (one less where it asks early), in the order in which it takes them,
// trip after trip: the first rows of a trip are on their way while the one before
// ends. A crew whose rows fit all at once keeps them, as those of a team do.
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
  // Whether the thread that asks does so while the blocks of a cluster wait for each
  // other, and loses them no time: for the stage of the row before, so that one stage
  // less is on its way.
  static constexpr bool asks_early = HEDDLE_PANEL_CLUSTER > 1 && Stages > 2;

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
    holds = false;
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
  // The thread has read the row. Its stage is free for another, for the crew has met
  // since, or, where it asks early, that of the row before.
  __device__ __forceinline__ void next() {
    const int read = at;
    if ((at += HEDDLE_PANEL_ROWS) >= ring)
      at = 0;
    if constexpr (!in_team) {
      if (!asks_early || holds) {
        if (thread_of_crew() == 0 && !stays)
          ask(crew_of_thread(), asked, !asks_early ? read : read > 0 ? read - 1 : ring - 1);
        if (++asked == of_crew)
          asked = 0;
      }
      holds = asks_early;
    }
  }

  // Waits for what is still on its way, and ends with the member; between trips.
  __device__ __forceinline__ void close() {
    if constexpr (!in_team)
      wait_for_all();
  }

private:
  __device__ __forceinline__ void wait_for_all() {
    const int under_way = stays || !holds ? ring : ring - 1;
#pragma unroll 1
    for (int k = 0; k < under_way; ++k) {
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
  bool stays, holds; // all rows; a row that has been read, and is not free yet
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

// Combines a few states of each lane of a warp, or of each of its first `Lanes`, and
// so of every other so many; every lane has the results.
template <class Kind, int Count, int Lanes = 32> __device__ __forceinline__ void over_warp(typename Kind::state (&mine)[Count]) {
  __syncwarp(); // or the assembler prepares for threads that are elsewhere
#pragma unroll
  for (int mask = Lanes / 2; mask; mask /= 2)
#pragma unroll
    for (int k = 0; k < Count; ++k)
      mine[k] = Kind::combine(mine[k], shuffle_xor(mine[k], mask));
}
template <class Kind, int Lanes = 32> __device__ __forceinline__ typename Kind::state over_warp(typename Kind::state mine) {
  typename Kind::state one[1] = {mine};
  over_warp<Kind, 1, Lanes>(one);
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
    if constexpr (sizeof(state) <= 4 && parts % 4 == 0) {
      // Few after each other.
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
      // Sums in double take longer than what is shuffled.
      constexpr int lanes = parts > 4 ? 8 : parts > 2 ? 4 : 2;
      const int lane = threadIdx.x % lanes;
      state mine = lane < parts ? part[lane] : Kind::neutral();
#pragma unroll
      for (int k = lanes; k < parts; k += lanes)
        mine = Kind::combine(mine, k + lane < parts ? part[k + lane] : Kind::neutral());
      return over_warp<Kind, lanes>(mine);
    }
  }

private:
  state of_warp[of_crew];
  unsigned meetings = 0;
};

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

} // namespace heddle

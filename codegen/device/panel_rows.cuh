// panel_rows.cuh: bulk copies of the rows that thread groups process.
#pragma once
#include "panel_position.cuh"

namespace heddle {

// Rows of `Matrices` matrices of one member, in shared memory. A thread group processes
// every `thread_groups`th row of a panel. Bulk copies load the rows in that order,
// across the ends of panels and iterations, with up to `stages` rows in flight (one
// fewer if copies are issued early). If all rows of a group fit in its stages they stay
// resident, as they always do with a cluster per member.
//
// One thread of a group issues the copies and the others wait for them. Addresses are
// computed before the first iteration, for as many rows as the table holds. Rows that
// stay resident are copied once, so they need no table.
template <int Matrices> class row_queue {
  static constexpr int table_rows = cluster_per_member ? 0 : buffered_rows / thread_groups;
  // The phases of the barriers are the bits of a word.
  static constexpr int barriers = stages < 32 ? stages : 32;
  // A bulk copy begins at a multiple of 16 bytes and has a multiple of 16 bytes. If the
  // 16 bytes at either end of a row are not all in the matrix, the bulk copy leaves
  // them out, and the row's bytes among them are copied one by one.
  struct row_copy {
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
    unsigned head[thread_groups][stages][Matrices];
    arrival full[thread_groups][barriers];
    alignas(16) row_copy table[thread_groups][table_rows > 0 ? table_rows : 1][Matrices];
  };
  static __device__ __forceinline__ shared_rows &shared() {
    __shared__ shared_rows of_member;
    return of_member;
  }

public:
  // Whether a copy is issued while the blocks of a cluster wait for each other, which
  // costs no time. The copy uses the stage of the previous row, so that one row fewer
  // is in flight.
  static constexpr bool issues_early = cluster_blocks > 1 && stages > 2;

  // Each row of a matrix has `bytes` of shared memory.
  __device__ __forceinline__ explicit row_queue(int bytes) : bytes(bytes) {
    // Loops that run rarely are not unrolled, because every class compiles them again.
#pragma unroll 1
    for (int k = threadIdx.x; k < thread_groups * barriers; k += block_threads)
      arrival_init(&shared().full[k / barriers][k % barriers], 1);
    arrival_init_fence();
    __syncthreads();
  }

  // Sets matrix `m` of the next member, whose rows are `stride` elements apart. Called
  // by one thread.
  template <class T> __device__ __forceinline__ void set_matrix(int m, const T *matrix, long long stride, long long rows, long long columns) {
    shared().matrix[m] = reinterpret_cast<const char *>(matrix);
    shared().end[m] = reinterpret_cast<const char *>(matrix + (rows - 1) * stride + columns);
    shared().row_bytes[m] = stride * sizeof(T);
    shared().first_bytes[m] = static_cast<int>(position().first_column * sizeof(T));
    shared().width_bytes[m] = position().width * sizeof(T);
  }

  // Begins a member, with the rows of every `units`th panel. The block has synchronized
  // since set_matrix.
  __device__ __forceinline__ void open(long long rows) {
    const int first_panel = position().unit, units = position().units, width = position().width;
    const int group = group_of_thread();
    group_rows = 0;
#pragma unroll 1
    for (int p = first_panel; width > 0 && p < panels_used(rows); p += units)
      group_rows += rows_of_group(p, rows, group);
    if (threadIdx.x == 0) {
      shared().rows = rows;
      shared().first_panel = first_panel;
      shared().units = units;
    }
    __syncthreads();
#pragma unroll 1
    for (int k = thread_in_group(); k < table_rows && k < group_rows; k += group_threads)
      for (int m = 0; m < Matrices; ++m)
        shared().table[group][k][m] = copy_of(group, k, m);
    stage = 0;
    holds_row = false;
    is_resident = group_rows <= stages;
    ring = is_resident ? group_rows : stages;
    __syncthreads(); // the table is complete, and no thread still reads the stages
    if constexpr (cluster_per_member) {
      load_all(group);
      return;
    }
    if (thread_in_group() == 0) {
#pragma unroll 1
      for (int k = 0; k < ring; ++k)
        issue(group, k, k);
    }
    issued = ring < group_rows ? ring : 0;
  }

  // Waits for the next rows of the group.
  __device__ __forceinline__ void wait() {
    if (cluster_per_member || ring == 0)
      return; // all rows are resident, or have no columns
    arrival_wait(&shared().full[group_of_thread()][stage], phases >> stage & 1);
    phases ^= is_resident ? 0 : 1u << stage;
  }
  // The elements of the `b`th of these rows, from the first column of the block.
  template <class T> __device__ __forceinline__ const T *row(int m, int b) const {
    const int group = group_of_thread();
    return reinterpret_cast<const T *>(place(group, stage + b) + m * bytes + shared().head[group][stage + b][m]);
  }
  // Advances to the next rows, after the thread has read these. Their stage is free for
  // another copy, because the group has synchronized since. If copies are issued early,
  // the stage of the previous row is free instead.
  __device__ __forceinline__ void next() {
    const int read = stage;
    if ((stage += rows_at_once) >= ring)
      stage = 0;
    if constexpr (!cluster_per_member) {
      if (!issues_early || holds_row) {
        if (thread_in_group() == 0 && !is_resident)
          issue(group_of_thread(), issued, !issues_early ? read : read > 0 ? read - 1 : ring - 1);
        if (++issued == group_rows)
          issued = 0;
      }
      holds_row = issues_early;
    }
  }

  // Waits for the copies in flight, when the member is done.
  __device__ __forceinline__ void close() {
    if constexpr (!cluster_per_member)
      wait_for_all();
  }

private:
  // Loads all rows of the group, as many at a time as there are barriers.
  __device__ __forceinline__ void load_all(int group) {
#pragma unroll 1
    for (int first = 0; first < group_rows; first += barriers) {
      const int count = group_rows - first < barriers ? group_rows - first : barriers;
#pragma unroll 1
      for (int k = thread_in_group(); k < count; k += group_threads)
        issue(group, first + k, first + k);
#pragma unroll 1
      for (int k = 0; k < count; ++k) {
        arrival_wait(&shared().full[group][k], phases >> k & 1);
        phases ^= 1u << k;
      }
      sync_group(); // no thread still waits for a barrier that is used again
    }
  }
  __device__ __forceinline__ void wait_for_all() {
    const int in_flight = is_resident || !holds_row ? ring : ring - 1;
#pragma unroll 1
    for (int k = 0; k < in_flight; ++k) {
      arrival_wait(&shared().full[group_of_thread()][stage], phases >> stage & 1);
      phases ^= 1u << stage;
      if (++stage == ring)
        stage = 0;
    }
  }
  static __device__ __forceinline__ int rows_of_group(int panel, long long rows, int group) {
    const int all_rows = rows_of_panel(panel, rows);
    return all_rows > group ? (all_rows - group + thread_groups - 1) / thread_groups : 0;
  }
  __device__ __forceinline__ char *place(int group, int stage) const {
    return dynamic_shared() + (group * stages + stage) * Matrices * bytes;
  }

  // The copy of the group's `k`th row of an iteration.
  static __device__ __noinline__ row_copy copy_of(int group, int k, int m) {
    int panel = shared().first_panel;
    for (;; panel += shared().units) {
      const int of_panel = rows_of_group(panel, shared().rows, group);
      if (k < of_panel)
        break;
      k -= of_panel;
    }
    const long long row = first_row_of_panel(panel, shared().rows) + group + k * thread_groups;
    const char *const begin = shared().matrix[m] + row * shared().row_bytes[m] + shared().first_bytes[m];
    const unsigned head = static_cast<unsigned>(reinterpret_cast<unsigned long long>(begin) % 16);
    const char *from = begin - head, *until = from + (head + shared().width_bytes[m] + 15) / 16 * 16;
    unsigned flags = 0;
    if (from < shared().matrix[m]) {
      from += 16;
      flags |= before;
    }
    if (until > shared().end[m]) {
      until -= 16;
      flags |= behind;
    }
    return {from, until > from ? static_cast<unsigned>(until - from) | flags : flags, head};
  }

  // Copies the bytes of a row that its bulk copy leaves out.
  static __device__ __noinline__ void copy_ends(int m, row_copy copy, char *to) {
    const char *const first = copy.bytes & before ? copy.from - 16 : copy.from;
    const char *const begin = first + copy.head, *const end = begin + shared().width_bytes[m];
    const char *const until = copy.from + copy.bytes / 16 * 16;
#pragma unroll 1
    for (const char *byte = begin; byte < end && byte < copy.from; ++byte)
      to[byte - first] = *byte;
#pragma unroll 1
    for (const char *byte = until > begin ? until : begin; byte < end; ++byte)
      to[byte - first] = *byte;
    bulk_copy_fence();
  }

  // Issues the copy of the group's `k`th row. One thread calls this function.
  __device__ __forceinline__ void issue(int group, int k, int stage) const {
    arrival *const full = &shared().full[group][stage % barriers];
    char *const to = place(group, stage);
    row_copy copy[Matrices];
    unsigned total = 0;
#pragma unroll
    for (int m = 0; m < Matrices; ++m) {
      copy[m] = k < table_rows ? shared().table[group][k][m] : copy_of(group, k, m);
      shared().head[group][stage][m] = copy[m].head;
      if (copy[m].bytes % 16)
        copy_ends(m, copy[m], to + m * bytes);
      total += copy[m].bytes / 16 * 16;
    }
    arrival_expect(full, total);
#pragma unroll
    for (int m = 0; m < Matrices; ++m)
      if (copy[m].bytes >= 16)
        bulk_copy(to + m * bytes + (copy[m].bytes & before ? 16 : 0), copy[m].from, copy[m].bytes / 16 * 16, full);
  }

  int bytes, stage, ring;      // bytes of a row; the current stage, and the number of stages in use
  int group_rows, issued;      // rows of the group in an iteration; the row of the next copy
  bool is_resident, holds_row; // all rows are resident; a row was read, and its stage is not free yet
  unsigned phases = 0;         // one bit for the barrier of each stage
};

} // namespace heddle

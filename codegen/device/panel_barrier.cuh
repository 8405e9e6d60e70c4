// panel_barrier.cuh: how the blocks that process a member synchronize.
//
// Twice in an iteration: before they combine the parts that panels have of columns,
// and before the next iteration reads the new values. The results of rows may still
// be in flight after the first; a block that reads them waits.
#pragma once
#include "panel_position.cuh"
#include "reduce.cuh"

namespace heddle {

// A barrier of all blocks of a launch, in two halves, number `Number` of the launch.
// A block arrives, and does other work before it waits. The top bit of the word flips
// when all blocks have arrived, and the rest of it is zero again: nothing depends on
// how many blocks the launch before had.
template <int Number> class split_grid_barrier {
  static constexpr unsigned top = 0x80000000u;

public:
  __device__ __forceinline__ explicit split_grid_barrier(unsigned *word) : word(word) {
    if (threadIdx.x == 0)
      phase() = read_now(word) & top; // cannot flip before this block arrives
  }
  __device__ __forceinline__ void arrive_block() {
    __syncthreads();
    if (threadIdx.x == 0)
      arrive_thread();
  }
  // One thread arrives for the block, after it has synchronized with the threads
  // whose stores count. It waits until these are visible; the others need not.
  __device__ __forceinline__ void arrive_thread() {
    phase() ^= top;
    arrive(word, blockIdx.x == 0 ? top - (gridDim.x - 1) : 1);
  }
  // Waits until all blocks have arrived as often as this one, which has synchronized
  // since.
  __device__ __forceinline__ void wait() const {
    if (threadIdx.x == 0)
      while ((read_now(word) & top) != phase()) {
      }
    __syncthreads();
  }

private:
  // Shared by the thread that arrives and the thread that waits.
  static __device__ __forceinline__ unsigned &phase() {
    __shared__ unsigned value;
    return value;
  }
  unsigned *word;
};

// Columns that a block of a cluster per member combines at most.
constexpr int max_combined = member_blocks > 1 ? in_messages((max_cluster_columns - 1) / (member_blocks - 1) + 1) : max_cluster_columns;
// Threads that combine a column. With a cluster per member they do the same and send
// the result to some of the blocks each; otherwise each combines a run of panels.
constexpr int column_threads = cluster_per_member ? (member_blocks - 1) / message_columns + 1 : panel_runs;
// Threads that compute the member's results, and send them to a block each.
constexpr int member_threads = cluster_per_member ? member_blocks : 1;
// Threads that combine columns, and columns that they combine at a time. If that
// leaves the row warps free, these synchronize with the others only when the next
// iteration begins.
constexpr int combining_warps = (max_combined * column_threads + 31) / 32;
constexpr bool combines_beside_rows = cluster_per_member && 32 * (combining_warps + row_warps) <= block_threads;
constexpr int combining_threads = combines_beside_rows ? 32 * combining_warps : block_threads;
constexpr int combined_at_once = combines_beside_rows ? max_combined : block_threads / column_threads;
__device__ __forceinline__ bool is_combining_thread() { return threadIdx.x < combining_threads; }
// The thread's index among them. Without a cluster per member it is read again, so that
// the registers of the phases hold nothing that is computed from it.
__device__ __forceinline__ int combining_thread() { return cluster_per_member ? threadIdx.x : thread_anew(); }
__device__ __forceinline__ void sync_combining_threads() { first_threads_barrier<combining_threads, block_threads>(false); }
__device__ __forceinline__ bool any_combining_thread(bool mine) { return first_threads_barrier<combining_threads, block_threads>(mine); }

// The barrier of the blocks that process a member.
//
// The blocks of a grid count arrivals in global memory. The blocks of a cluster per
// member instead wait for the bytes that others send them. A block that has begun an
// iteration sends its part of the member to the last block, and the last block sends
// the member's results to all: so no block receives anything of an iteration before
// it has begun the one before.
class member_barrier {
  struct cluster_barrier_state {
    arrival columns, values;
    int row_iterations[row_warps]; // iterations whose row results each warp has stored
  };
  static __device__ __forceinline__ cluster_barrier_state &state() {
    __shared__ cluster_barrier_state of_block;
    return of_block;
  }

public:
  static constexpr int words = panel_barrier_bytes / 4;
  // The cluster synchronizes before the first iteration.
  __device__ __forceinline__ explicit member_barrier(unsigned *word) : blocks(word), rows(word + words / 2) {
    if (cluster_per_member && threadIdx.x == 0) {
      arrival_init(&state().columns, 1);
      arrival_init(&state().values, 1);
      arrival_init_fence();
    }
    if (cluster_per_member && threadIdx.x < row_warps)
      state().row_iterations[threadIdx.x] = 0;
  }
  // Barriers for what a block of a cluster per member receives: parts of columns and
  // of the member, and values.
  static __device__ __forceinline__ arrival *columns() { return &state().columns; }
  static __device__ __forceinline__ arrival *values() { return &state().values; }

  // An iteration begins. The block synchronizes before it sends anything.
  __device__ __forceinline__ void begin() {
    if (cluster_per_member && threadIdx.x == 0) {
      arrival_expect(columns(), position().bytes_of_parts);
      arrival_expect(values(), position().bytes_of_values);
    }
  }
  // This block's parts of the columns are complete.
  __device__ __forceinline__ void publish_columns() {
    if constexpr (!cluster_per_member)
      blocks.arrive_block();
  }
  // This block's row results are complete, stored by the row warps alone if
  // `OnlyRowWarps`. Waits for the columns of all blocks.
  template <bool OnlyRowWarps> __device__ __forceinline__ void wait_for_columns() {
    if constexpr (cluster_per_member) {
      const int warp = (block_threads - 1 - threadIdx.x) / 32;
      if (warp < row_warps) {
        fence_cluster();
        if (threadIdx.x % 32 == 0)
          *static_cast<volatile int *>(&state().row_iterations[warp]) = iterations + 1;
      }
      arrival_wait(columns(), iterations & 1);
      // A block that receives nothing does not wait above: none of its threads may
      // begin the next iteration before the others have seen this one.
      if (position().bytes_of_parts == 0)
        __syncthreads();
    } else {
      if constexpr (!OnlyRowWarps)
        rows.arrive_block();
      else if (is_row_thread()) {
        sync_row_threads();
        if (threadIdx.x == block_threads - 1)
          rows.arrive_thread();
      }
      blocks.wait();
    }
  }
  // Waits for the parts of the member of all panels. The last block calls it.
  __device__ __forceinline__ void wait_for_member_parts() const {
    if constexpr (!cluster_per_member)
      rows.wait();
  }
  // Waits for the row results of all blocks. The combining threads call it.
  __device__ __forceinline__ void wait_for_rows() const {
    if constexpr (cluster_per_member) {
#pragma unroll 1
      for (int k = threadIdx.x; k < member_blocks * row_warps; k += combining_threads)
        while (fetch_now(&state().row_iterations[k % row_warps], k / row_warps) <= iterations) {
        }
      fence_cluster();
      sync_combining_threads();
    } else {
      rows.wait();
    }
  }
  // The values of columns and of the member that this block computes are complete.
  __device__ __forceinline__ void publish_values() {
    if constexpr (!cluster_per_member)
      blocks.arrive_block();
  }
  // Waits for the values of all blocks, which ends the iteration.
  __device__ __forceinline__ void wait_for_values() {
    if constexpr (cluster_per_member) {
      arrival_wait(values(), iterations & 1);
      ++iterations;
    } else {
      blocks.wait();
    }
  }

private:
  split_grid_barrier<0> blocks;
  split_grid_barrier<1> rows;
  int iterations = 0;
};

} // namespace heddle

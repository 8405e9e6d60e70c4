// panel_barrier.cuh: how the blocks that process a member synchronize.
//
// They synchronize twice in an iteration: before they combine the parts of columns, and
// before the next iteration reads the new values. Row results may still be in flight
// after the first barrier; a block that reads them waits for them. If the member's
// results depend on the columns, the last block waits for the columns of all blocks
// before it computes them.
#pragma once
#include "panel_position.cuh"
#include "reduce.cuh"

namespace heddle {

// Barrier `Number` of a launch, which synchronizes all blocks in two halves: a block
// arrives, does other work, and then waits. The top bit of the word flips when all
// blocks have arrived, and the other bits are zero again, so the number of blocks may
// differ from launch to launch.
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
  // One thread arrives for the block, after it has synchronized with the threads whose
  // stores count: only that thread waits until the stores are visible.
  __device__ __forceinline__ void arrive_thread() {
    phase() ^= top;
    arrive(word, blockIdx.x == 0 ? top - (gridDim.x - 1) : 1);
  }
  // Waits until all blocks have arrived. The block has synchronized since its own
  // arrival.
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

// The most columns that a block of a cluster per member combines.
constexpr int max_combined = sends_messages ? in_messages((member_columns - 1) / (member_blocks - 1) + 1) : member_columns;
// The number of threads that combine a column. With a cluster per member all of them
// compute the same result, and each sends it to some of the blocks; otherwise each
// combines a run of panels.
constexpr int column_threads = cluster_per_member ? (member_blocks - 1) / message_columns + 1 : panel_runs;
// The number of threads that compute the member's results; each sends them to one
// block.
constexpr int member_threads = sends_messages ? member_blocks : 1;
// The threads that combine columns, and the columns that they combine at a time. If no
// row warp is among these threads, the row warps synchronize with them only when the
// next iteration begins.
constexpr int combining_warps = (max_combined * column_threads + 31) / 32;
constexpr bool combines_beside_rows = cluster_per_member && 32 * (combining_warps + row_warps) <= block_threads;
constexpr int combining_threads = combines_beside_rows ? 32 * combining_warps : block_threads;
constexpr int combined_at_once = combines_beside_rows ? max_combined : block_threads / column_threads;
__device__ __forceinline__ bool is_combining_thread() { return threadIdx.x < combining_threads; }
// The thread's index among the combining threads. Without a cluster per member it is
// read again, so that no value derived from it occupies a register during the phases.
__device__ __forceinline__ int combining_thread() { return cluster_per_member ? threadIdx.x : reread_thread_index(); }
__device__ __forceinline__ void sync_combining_threads() { first_threads_barrier<combining_threads, block_threads>(false); }
__device__ __forceinline__ bool any_combining_thread(bool mine) { return first_threads_barrier<combining_threads, block_threads>(mine); }

// The barrier of the blocks that process a member.
//
// The blocks of a grid count arrivals in global memory. The blocks of a cluster per
// member instead wait for the bytes that other blocks send; a single block synchronizes
// its threads. After a block has begun an iteration, it sends its part of the member to
// the last block, and the last block sends the member's results to all blocks. So no
// block receives data of an iteration before it has begun the previous one.
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
    if (sends_messages && threadIdx.x == 0) {
      arrival_init(&state().columns, 1);
      arrival_init(&state().values, 1);
      arrival_init_fence();
    }
    if (cluster_per_member && threadIdx.x < row_warps)
      state().row_iterations[threadIdx.x] = 0;
  }
  // The barriers of a block of a cluster per member: for the parts of columns and of
  // the member that it receives, and for the values.
  static __device__ __forceinline__ arrival *columns() { return &state().columns; }
  static __device__ __forceinline__ arrival *values() { return &state().values; }

  // Begins an iteration. The block synchronizes before it sends anything.
  __device__ __forceinline__ void begin() {
    if (sends_messages && threadIdx.x == 0) {
      arrival_expect(columns(), position().bytes_of_parts);
      arrival_expect(values(), position().bytes_of_values);
    }
  }
  // Publishes this block's parts of the columns.
  __device__ __forceinline__ void publish_columns() {
    if constexpr (!cluster_per_member)
      blocks.arrive_block();
    else if constexpr (!sends_messages)
      __syncthreads();
  }
  // Publishes this block's row results, which the row warps alone have stored if
  // `OnlyRowWarps`, and waits for the columns of all blocks.
  template <bool OnlyRowWarps> __device__ __forceinline__ void wait_for_columns() {
    if constexpr (cluster_per_member) {
      const int warp = (block_threads - 1 - threadIdx.x) / 32;
      if (warp < row_warps) {
        fence_member();
        if (threadIdx.x % 32 == 0)
          *static_cast<volatile int *>(&state().row_iterations[warp]) = iterations + 1;
      }
      if constexpr (!sends_messages)
        return;
      arrival_wait(columns(), iterations & 1);
      // In a block that receives no bytes, the wait above returns at once. No thread
      // may then begin the next iteration before all threads have observed this phase
      // of the barrier.
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
  // Waits for the parts of the member of all panels. Called by the last block.
  __device__ __forceinline__ void wait_for_member_parts() const {
    if constexpr (!cluster_per_member)
      rows.wait();
    else if constexpr (!sends_messages)
      __syncthreads();
  }
  // Waits for the row results of all blocks. Called by the combining threads.
  __device__ __forceinline__ void wait_for_rows() const {
    if constexpr (cluster_per_member) {
#pragma unroll 1
      for (int k = threadIdx.x; k < member_blocks * row_warps; k += combining_threads)
        while (row_iterations(k / row_warps, k % row_warps) <= iterations) {
        }
      fence_member();
      sync_combining_threads();
    } else {
      rows.wait();
    }
  }
  // Publishes the values of columns and of the member that this block has computed.
  __device__ __forceinline__ void publish_values() {
    if constexpr (!cluster_per_member)
      blocks.arrive_block();
  }
  // Waits for the values of all blocks, which ends the iteration.
  __device__ __forceinline__ void wait_for_values() {
    if constexpr (cluster_per_member) {
      if constexpr (sends_messages)
        arrival_wait(values(), iterations & 1);
      else
        __syncthreads();
      ++iterations;
    } else {
      blocks.wait();
    }
  }

private:
  // The iterations whose row results a warp of the block of rank `rank` has stored.
  static __device__ __forceinline__ int row_iterations(int rank, int warp) {
    if constexpr (sends_messages)
      return fetch_now(&state().row_iterations[warp], rank);
    return read_now(&state().row_iterations[warp]);
  }
  // Orders the memory accesses of this warp for the blocks of the member.
  static __device__ __forceinline__ void fence_member() {
    if constexpr (sends_messages)
      fence_cluster();
    else
      fence_block();
  }
  split_grid_barrier<0> blocks;
  split_grid_barrier<1> rows;
  int iterations = 0;
};

// The barrier before the last block reduces the columns that all blocks have combined.
class column_barrier {
  static __device__ __forceinline__ arrival *columns() {
    __shared__ arrival of_block;
    return &of_block;
  }

public:
  // The cluster synchronizes before the first iteration.
  __device__ __forceinline__ explicit column_barrier(unsigned *word) : blocks(word + member_barrier::words / 4) {
    if (sends_messages && threadIdx.x == 0) {
      arrival_init(columns(), 1);
      arrival_init_fence();
    }
  }
  // Begins an iteration, in which the last block receives `bytes` of each column.
  static __device__ __forceinline__ void begin(int bytes, long long count) {
    if (sends_messages && threadIdx.x == 0 && position().is_last_block())
      arrival_expect(columns(), in_messages(count) * bytes);
  }
  // Publishes the value of a column for the last block, as publish_column does for all
  // blocks.
  template <class T> static __device__ __forceinline__ void publish(T *values, long long column, T value, bool has_value, int thread);
  // Publishes the columns that this block has combined.
  __device__ __forceinline__ void publish_block() {
    if constexpr (!cluster_per_member)
      blocks.arrive_block();
  }
  // Waits for the columns of all blocks. Called by the last block.
  __device__ __forceinline__ void wait() {
    if constexpr (sends_messages)
      arrival_wait(columns(), iterations++ & 1);
    else if constexpr (cluster_per_member)
      __syncthreads();
    else
      blocks.wait();
  }

private:
  split_grid_barrier<2> blocks;
  int iterations = 0; // of the last block
};

} // namespace heddle

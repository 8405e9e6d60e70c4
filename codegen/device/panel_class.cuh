// panel_class.cuh: the size class that a panel loop is compiled for.
//
// Its constants, its thread groups, and the panels of a member.
#pragma once
#include "panel_constants.h"
#include "ptx.cuh"

#ifndef HEDDLE_PANEL_THREADS
#define HEDDLE_PANEL_THREADS 64           // threads of a block
#define HEDDLE_PANEL_GROUPS 2             // thread groups of a block
#define HEDDLE_PANEL_ROWS 1               // rows that a thread group processes together; 1 without a cluster per member
#define HEDDLE_PANEL_ITEMS_PER_THREAD 4   // columns of each thread
#define HEDDLE_PANEL_STAGES 4             // rows of a thread group in shared memory at a time
#define HEDDLE_PANEL_CLUSTER 1            // blocks that share a panel
#define HEDDLE_PANEL_CLUSTER_PER_MEMBER 0 // blocks of a cluster per member; 0: the whole grid processes each member
#define HEDDLE_PANEL_MEMBER_ROWS 64       // with a cluster per member: the most rows of a block
#define HEDDLE_PANEL_MEMBER_COLUMNS 64    // with a cluster per member: the most columns of a member
#define HEDDLE_PANEL_BLOCKS 1             // blocks that fit on a multiprocessor
#define HEDDLE_PANEL_RAGGED 1             // whether members differ in width
#endif
#ifndef HEDDLE_PANEL_BUFFERED_ROWS
#define HEDDLE_PANEL_BUFFERED_ROWS heddle::default_buffered_rows
#endif
#if HEDDLE_PANEL_CLUSTER_PER_MEMBER > 1
#define HEDDLE_PANEL_CLUSTER_DIMENSIONS __cluster_dims__(HEDDLE_PANEL_CLUSTER_PER_MEMBER)
#elif HEDDLE_PANEL_CLUSTER > 1
#define HEDDLE_PANEL_CLUSTER_DIMENSIONS __cluster_dims__(HEDDLE_PANEL_CLUSTER)
#else
#define HEDDLE_PANEL_CLUSTER_DIMENSIONS
#endif

namespace heddle {

constexpr int block_threads = HEDDLE_PANEL_THREADS;
constexpr int thread_groups = HEDDLE_PANEL_GROUPS;
constexpr int rows_at_once = HEDDLE_PANEL_ROWS;
constexpr int items_per_thread = HEDDLE_PANEL_ITEMS_PER_THREAD;
constexpr int stages = HEDDLE_PANEL_STAGES;
constexpr int cluster_blocks = HEDDLE_PANEL_CLUSTER;
constexpr int member_blocks = HEDDLE_PANEL_CLUSTER_PER_MEMBER;
constexpr bool cluster_per_member = member_blocks > 0;
// Whether the blocks of a member send each other messages. A cluster of one block keeps
// everything in its own shared memory.
constexpr bool sends_messages = member_blocks > 1;
constexpr int member_columns = HEDDLE_PANEL_MEMBER_COLUMNS;
constexpr bool is_ragged = HEDDLE_PANEL_RAGGED;

constexpr int panels = cluster_per_member ? member_blocks : panels_of_clusters[cluster_blocks];
// The number of rows whose values a block buffers at a time. With a cluster per member:
// all of the block's rows.
constexpr int buffered_rows = cluster_per_member ? HEDDLE_PANEL_MEMBER_ROWS : HEDDLE_PANEL_BUFFERED_ROWS;
// A column's parts are combined within runs of consecutive panels, then across the
// runs.
constexpr int panel_runs = cluster_per_member ? 1 : panels % 11 == 0 ? 11 : panels % 10 == 0 ? 10 : 7;
static_assert(panels % panel_runs == 0, "runs are equally long");

// The threads of a group process a row together.
constexpr int group_threads = block_threads / thread_groups, group_warps = group_threads / 32;
static_assert(buffered_rows % thread_groups == 0, "a thread group keeps its position in every buffer of rows");
static_assert(rows_at_once == 1 || cluster_per_member, "rows that a group processes together are all resident");
__device__ __forceinline__ int group_of_thread() { return thread_groups == 1 ? 0 : threadIdx.x / group_threads; }
__device__ __forceinline__ int thread_in_group() { return thread_groups == 1 ? threadIdx.x : threadIdx.x % group_threads; }
__device__ __forceinline__ void sync_group() { group_barrier<group_threads, block_threads>(group_of_thread()); }

// The bytes of a row stage for elements of `Bytes` bytes: a row, and up to 15 bytes at
// both ends for the alignment of a bulk copy.
template <int Bytes>
constexpr int bytes_of_row = cluster_per_member ? (member_columns * Bytes + 30) / 16 * 16 : group_threads * items_per_thread * Bytes + 32;

// The warps that compute and store row results: the last of a block, because its first
// warps may have more columns to combine.
constexpr int row_warps = ((buffered_rows < block_threads ? buffered_rows : block_threads) + 31) / 32;
__device__ __forceinline__ bool is_row_thread() { return static_cast<int>(threadIdx.x) >= block_threads - 32 * row_warps; }
__device__ __forceinline__ void sync_row_threads() { last_threads_barrier<32 * row_warps, block_threads>(); }

// The number of panels that have rows, at least one; all panels with a cluster per
// member.
__device__ __forceinline__ int panels_used(long long rows) {
  return cluster_per_member || rows >= panels ? panels : rows > 0 ? static_cast<int>(rows) : 1;
}
// A panel is a range of consecutive rows, so that a block touches few pages of memory.
// Rows are counted in 32 bits (PanelClass), because 32-bit divisions need fewer
// instructions.
__device__ __noinline__ long long first_row_of_panel(int panel, long long rows) {
  const unsigned all = static_cast<unsigned>(rows);
  return all >= panels ? all / panels * panel + all % panels * panel / panels : panel;
}
__device__ __forceinline__ int rows_of_panel(int panel, long long rows) {
  return panel < rows ? static_cast<int>(first_row_of_panel(panel + 1, rows) - first_row_of_panel(panel, rows)) : 0;
}

// The block's variable of type `T` in shared memory, one for each type.
template <class T> __device__ __forceinline__ T &in_shared_memory() {
  __shared__ T value;
  return value;
}

} // namespace heddle

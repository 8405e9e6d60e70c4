// panel_position.cuh: the position of a block in the grid and in its member.
//
// The position is kept in shared memory, which leaves the registers to the columns.
#pragma once
#include "panel_class.cuh"

namespace heddle {

// The blocks of a cluster per member send columns in messages of four, because the cost
// of a message does not depend on its length.
constexpr int message_columns = 4;
constexpr __device__ __forceinline__ int in_messages(long long columns) {
  return static_cast<int>((columns + message_columns - 1) / message_columns * message_columns);
}

struct panel_position {
  int first_member, member_step; // members that this block processes
  int block, blocks;             // index and number of the blocks that process the member
  int rank;                      // in the cluster that shares a panel
  int unit, units;               // index and number of these clusters, or of single blocks
  int limit;                     // of iterations
  // In the member: panels that have rows, the columns of the block, the rows of its
  // first panel.
  int used, width, height;
  long long first_column, first_row;
  // Bytes that the block receives in an iteration, with a cluster per member.
  unsigned bytes_of_parts, bytes_of_values;
  // Columns that this block combines, and the most that any block combines. The last
  // block computes the results of the member instead.
  int combined, column_slice;
  long long first_combined;

  __device__ __forceinline__ int panels_in_use() const { return cluster_per_member ? panels : used; }
  __device__ __forceinline__ long long first_row_of(int panel, long long rows) const {
    return panel == unit ? first_row : first_row_of_panel(panel, rows);
  }
  __device__ __forceinline__ int rows_of(int panel, long long rows) const { return panel == unit ? height : rows_of_panel(panel, rows); }
  __device__ __forceinline__ long long combined_column(int k) const { return first_combined + k; }
  __device__ __forceinline__ bool has_panels() const { return unit < used; }
  __device__ __forceinline__ bool is_last_block() const { return block == blocks - 1; }
};
__device__ __forceinline__ panel_position &position() { return in_shared_memory<panel_position>(); }

// The number of columns of a column slice, and of the slice of the block of rank
// `rank`.
__device__ __forceinline__ long long columns_of_block(long long columns) { return (columns + cluster_blocks - 1) / cluster_blocks; }
__device__ __forceinline__ int width_of_block(long long columns, int rank) {
  const long long slice = columns_of_block(columns), left = columns - rank * slice;
  return static_cast<int>(left < 0 ? 0 : left < slice ? left : slice);
}

// Finds the block's position in the grid. Called by one thread.
__device__ __forceinline__ void locate_block(int limit) {
  panel_position &at = position();
  const int blocks = cluster_per_member ? member_blocks : gridDim.x;
  at.first_member = blockIdx.x / blocks;
  at.member_step = gridDim.x / blocks;
  at.block = blockIdx.x % blocks;
  at.blocks = blocks;
  at.rank = cluster_blocks == 1 ? 0 : cluster_rank();
  at.unit = at.block / cluster_blocks;
  at.units = blocks / cluster_blocks;
  at.limit = limit;
}

// Finds the block's position in a member. Called by one thread.
__device__ __forceinline__ void locate_member(long long rows, long long columns) {
  panel_position &at = position();
  at.used = panels_used(rows);
  at.width = width_of_block(columns, at.rank);
  at.first_column = at.rank * columns_of_block(columns);
  at.first_row = first_row_of_panel(at.unit, rows);
  at.height = rows_of_panel(at.unit, rows);
  const int combining = at.blocks > 1 ? at.blocks - 1 : 1;
  // A class bounds the columns, so a 32-bit division is enough; it needs fewer
  // instructions.
  const long long even = (static_cast<unsigned>(columns) + combining - 1) / combining, slice = cluster_per_member ? in_messages(even) : even;
  at.first_combined = at.block * slice;
  const long long left = columns - at.first_combined;
  at.combined = at.block >= combining || left < 0 ? 0 : left < slice ? left : slice;
  at.column_slice = static_cast<int>(slice);
}

// The rows of a panel that a block processes at a time, at most `buffered_rows`, and
// the block's columns.
struct row_range {
  const int panel;
  const long long first_row; // of the panel
  const int panel_rows;      // all of them
  const int width, thread;   // columns of the block; the thread's index in its group
  const long long first_column;
  int begin, count; // the rows in progress

  __device__ __forceinline__ row_range(int panel, long long rows)
      : panel(panel), first_row(position().first_row_of(panel, rows)), panel_rows(position().rows_of(panel, rows)),
        width(position().width), thread(thread_in_group()), first_column(position().first_column) {}
  __device__ __forceinline__ void select(int first) {
    begin = first;
    count = panel_rows - begin < buffered_rows ? panel_rows - begin : buffered_rows;
  }
  // Whether these are the block's first rows in an iteration, or its last.
  __device__ __forceinline__ bool are_first() const { return begin == 0 && panel == position().unit; }
  __device__ __forceinline__ bool are_last() const { return begin + buffered_rows >= panel_rows && panel + position().units >= position().used; }

  __device__ __forceinline__ long long row(int r) const { return first_row + begin + r; }
  // Whether a group processes a `b`th row together with row `first`, and the index of
  // that row. Without such a row the index is `first`, and the repeated row has no
  // effect.
  __device__ __forceinline__ bool has_row(int first, int b) const { return rows_at_once == 1 || first + b * thread_groups < count; }
  __device__ __forceinline__ int index(int first, int b) const { return has_row(first, b) ? first + b * thread_groups : first; }
  // The thread's `k`th column, and whether the block has it. Unless the class is
  // ragged, only the last column may be missing.
  __device__ __forceinline__ int column(int k) const { return thread + k * group_threads; }
  __device__ __forceinline__ bool has_column(int k) const { return !is_ragged && k < items_per_thread - 1 ? true : column(k) < width; }
};

} // namespace heddle

// panel_class.cuh: what the class of a loop in panels decides, and how a member's
// rows are cut.
#pragma once
#include "ptx.cuh"

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
// Rows are counted in 32 bits (PanelClass): divisions cost less text.
__device__ __noinline__ long long first_of_panel(int panel, long long rows) {
  const unsigned all = static_cast<unsigned>(rows);
  return all >= panels ? all / panels * panel + all % panels * panel / panels : panel;
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

} // namespace heddle

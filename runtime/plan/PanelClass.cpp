//===- PanelClass.cpp - Size classes of panel loops -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PanelClass.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {
constexpr int threads = 512;
/// The largest number of columns of a thread. With more columns, the cost per
/// row is already negligible. The limit is lower if a thread group is the whole
/// block: no warp computes while the group synchronizes, so a wider row is
/// slower than memory.
constexpr int64_t maxItems = 24, maxItemsOfWholeBlock = 20;
/// The phases of the stages' barriers are the bits of one word.
constexpr int64_t maxStages = 32;
/// The number of values of each row that a block buffers.
constexpr int64_t valuesOfRow = 4;
/// The static shared memory that a kernel may declare.
constexpr int64_t maxStaticBytes = 48 * 1024;
/// The registers of a thread, and those not used for its columns. At the limit
/// a few registers spill, which costs less than a cluster of more blocks.
constexpr int64_t registers = 65536 / threads, otherRegisters = 32;
/// Static shared memory that is not counted below: barriers and sums of warps.
constexpr int64_t margin = 2048;
/// The number of blocks of a cluster per member.
constexpr int memberBlocks = 16;
/// Architectures that support such clusters have at least this shared memory.
constexpr int64_t sharedBytesOfMemberBlocks = 200 * 1024;

/// The cost of an iteration of a block in clocks of an H200, measured on loops
/// that balance matrices: the row of a thread group with its synchronization,
/// and the bytes of a row, read from memory or, if the matrix fits, from the L2
/// cache.
constexpr int64_t clocksOfRow = 650, clocksOfItem = 48, clocksOfItemInF64 = 200;
constexpr int64_t clocksOfRowInCluster = 600; // in addition
constexpr int64_t bytesPerClock = 16, bytesPerClockOfCache = 22;
constexpr int64_t bytesInCache = 32 << 20;
/// The cost of combining the columns of the thread groups.
constexpr int64_t clocksOfGathering = 500;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The extents that a class must support.
struct Members {
  const PlanPanel &panel;
  int64_t narrowest, widest, longest, sharedBytes;
};

/// The class with `groups` thread groups of a block, or nothing if it does not
/// fit.
std::optional<PanelClass> classWith(const Members &members, int cluster,
                                    int clusterPerMember, int groups) {
  const PlanPanel &panel = members.panel;
  int64_t element = 0, matrices = panel.elementBytes.size();
  for (int bytes : panel.elementBytes)
    element = std::max<int64_t>(element, bytes);
  int64_t group = threads / groups;
  int64_t items =
      std::max<int64_t>(1, ceilDiv(ceilDiv(members.widest, cluster), group));
  if (items > (groups > 1 ? maxItems : maxItemsOfWholeBlock) ||
      items * (panel.words + panel.rowWords) > registers - otherRegisters)
    return std::nullopt;
  // Static shared memory: the addresses of rows, their values (the same number
  // again for each reduction over rows), and the parts of the columns: one
  // value for each thread, and a maximum and a sum for the fallback. A cluster
  // per member also has two buffers for parts of columns, and the resident
  // values.
  int64_t rowsOfBlock = clusterPerMember ? max_cluster_rows / clusterPerMember
                                         : default_buffered_rows;
  int64_t fixed =
      rowsOfBlock * matrices * 16 +
      panel.computeBytes * (rowsOfBlock * valuesOfRow * (1 + panel.rows) +
                            panel.columns * 3 * threads) +
      margin;
  if (clusterPerMember)
    fixed += panel.columns * panel.computeBytes * 2 *
                 (max_cluster_columns + 2 * clusterPerMember) +
             rowsOfBlock * panel.keptOfRow +
             max_cluster_columns * panel.keptOfColumn;
  int64_t gather = groups > 1 ? threads * items * panel.computeBytes : 0;
  if (clusterPerMember) // the column values that threads broadcast
    gather += group * items * 4 * panel.words;
  int64_t stage = groups * matrices * (group * items * element + 32);
  // Each stage also has the start offsets of its rows, and a barrier.
  int64_t fixedOfStage = groups * (8 + 4 * matrices);
  int64_t stages =
      std::min((members.sharedBytes - fixed - gather) / (stage + fixedOfStage),
               maxStages);
  if (clusterPerMember) {
    // All rows are resident, and no stage is unused.
    int64_t needed = std::max<int64_t>(
        2, ceilDiv(ceilDiv(members.longest, clusterPerMember), groups));
    if (stages < needed || fixed + needed * fixedOfStage > maxStaticBytes)
      return std::nullopt;
    stages = needed;
  }
  if (stages < 2)
    return std::nullopt;
  PanelClass result;
  result.threads = threads;
  result.groups = groups;
  result.itemsPerThread = items;
  result.stages = stages;
  result.cluster = cluster;
  result.clusterPerMember = clusterPerMember;
  if (clusterPerMember &&
      items * (panel.words + 2 * panel.rowWords) <= registers - otherRegisters)
    result.rows = 2;
  // The last block of a cluster has fewer columns than the others.
  int64_t least = ceilDiv(std::max<int64_t>(members.narrowest, 1), cluster);
  result.ragged = least - (cluster - 1) <= (items - 1) * group;
  result.sharedBytes = stages * stage + gather;
  return result;
}

/// The clocks of an iteration of a block.
int64_t clocksOf(const Members &members, const PanelClass &candidate) {
  int64_t bytes = 0;
  for (int element : members.panel.elementBytes)
    bytes += ceilDiv(members.widest, candidate.cluster) * element;
  int64_t rows = ceilDiv(members.longest, candidate.panels());
  bool inCache = bytes * candidate.cluster * members.longest <= bytesInCache ||
                 candidate.clusterPerMember;
  int64_t item =
      members.panel.computeBytes > 4 ? clocksOfItemInF64 : clocksOfItem;
  return std::max(ceilDiv(rows, candidate.groups) *
                      (clocksOfRow + candidate.itemsPerThread * item +
                       (candidate.cluster > 1 ? clocksOfRowInCluster : 0)),
                  rows * bytes /
                      (inCache ? bytesPerClockOfCache : bytesPerClock)) +
         (candidate.groups > 1 ? clocksOfGathering : 0);
}

/// The fastest class; of equally fast classes, the one with the fewest thread
/// groups.
std::optional<PanelClass> fastestClass(const Members &members, int cluster,
                                       int clusterPerMember) {
  std::optional<PanelClass> best;
  for (int groups : {1, 2, 4, 8, 16})
    if (auto candidate = classWith(members, cluster, clusterPerMember, groups))
      if (!best || clocksOf(members, *candidate) < clocksOf(members, *best))
        best = candidate;
  return best;
}
} // namespace

std::vector<std::string> PanelClass::defines() const {
  auto define = [](const char *name, int value) {
    return formatv("-DHEDDLE_PANEL_{0}={1}", name, value).str();
  };
  return {define("THREADS", threads),
          define("ITEMS_PER_THREAD", itemsPerThread),
          define("GROUPS", groups),
          define("STAGES", stages),
          define("CLUSTER", cluster),
          define("CLUSTER_PER_MEMBER", clusterPerMember),
          define("RAGGED", ragged),
          define("ROWS", rows)};
}

std::string PanelClass::describe() const {
  std::string blocks =
      clusterPerMember
          ? formatv("a cluster of {0} per member, ", clusterPerMember).str()
      : cluster > 1 ? formatv("clusters of {0}, ", cluster).str()
                    : "";
  std::string of =
      groups > 1 ? formatv("{0} thread groups of ", groups).str() : "";
  return formatv("{0}{1}{2} threads, {3} items per thread, {4} row stages{5}",
                 blocks, of, threads / groups, itemsPerThread, stages,
                 groups > 1 ? " per group" : "")
      .str();
}

int64_t panelBytesOf(StringRef arch) {
  unsigned number = 0;
  arch.consume_front("sm_");
  if (arch.consumeInteger(10, number) || number < 90)
    return 0;
  return (number < 120 ? 227 : 99) * 1024;
}

std::optional<PanelClass> panelClassFor(const PlanPanel &panel,
                                        int64_t narrowest, int64_t widest,
                                        int64_t longest, int64_t sharedBytes) {
  Members members{panel, narrowest, widest, longest, sharedBytes};
  if (panel.clusterPerMember && sharedBytes >= sharedBytesOfMemberBlocks &&
      widest <= max_cluster_columns && longest <= max_cluster_rows) {
    if (auto candidate = fastestClass(members, 1, memberBlocks))
      return candidate;
  }
  if (longest > INT32_MAX) // panel kernels count rows in 32 bits
    return std::nullopt;
  for (int cluster : {1, 2, 4, 8})
    if (auto candidate = fastestClass(members, cluster, 0))
      return candidate;
  return std::nullopt;
}

} // namespace heddle::runtime

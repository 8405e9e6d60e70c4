//===- PanelClass.cpp - Classes of the panel schedule ---------------------===//

#include "runtime/plan/PanelClass.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {
constexpr int threads = 512;
/// Columns of a thread, at most: with more, the work of a thread for the row as
/// a whole no longer shows. A thread group that is the whole block is slower
/// than memory before that, because no warp works while it synchronizes.
constexpr int64_t mostItems = 24, mostItemsOfWholeBlock = 20;
/// Stages: the phases of their barriers are bits of a word.
constexpr int64_t mostStages = 32;
/// Values of each row that a block buffers.
constexpr int64_t valuesOfRow = 4;
/// Static shared memory that a kernel may declare.
constexpr int64_t mostFixed = 48 * 1024;
/// Registers of a thread, and those that it needs besides its columns. At the
/// limit a few spill, which costs less than more blocks for a row.
constexpr int64_t registers = 65536 / threads, otherRegisters = 32;
/// Static shared memory that is not counted below: barriers, sums of warps.
constexpr int64_t margin = 2048;
/// Blocks of a cluster that processes a small member alone.
constexpr int memberBlocks = 16;
/// Architectures whose clusters have so many blocks have this shared memory.
constexpr int64_t sharedBytesOfMemberBlocks = 200 * 1024;

/// The time of an iteration of a block, in clocks of an H200, measured on loops
/// that balance matrices: a thread group's row, including its synchronization,
/// and the bytes of a row, from memory or, where the matrix fits, from the
/// second-level cache.
constexpr int64_t clocksOfRow = 650, clocksOfItem = 48, clocksOfItemInF64 = 200;
constexpr int64_t clocksOfRowInCluster = 600; // in addition
constexpr int64_t bytesPerClock = 16, bytesPerClockOfCache = 22;
constexpr int64_t bytesInCache = 32 << 20;
/// Combining the columns of the thread groups.
constexpr int64_t clocksOfGathering = 500;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The members that a class must fit.
struct Members {
  const PlanPanel &panel;
  int64_t narrowest, widest, longest, sharedBytes;
};

/// The class with `groups` thread groups of a block, or nothing if it does not
/// fit.
std::optional<PanelClass> shapeOf(const Members &members, int cluster,
                                  int clusterPerMember, int groups) {
  const PlanPanel &panel = members.panel;
  int64_t element = 0, matrices = panel.elementBytes.size();
  for (int bytes : panel.elementBytes)
    element = std::max<int64_t>(element, bytes);
  int64_t group = threads / groups;
  int64_t items =
      std::max<int64_t>(1, divided(divided(members.widest, cluster), group));
  if (items > (groups > 1 ? mostItems : mostItemsOfWholeBlock) ||
      items * (panel.words + panel.rowWords) > registers - otherRegisters)
    return std::nullopt;
  // Static: addresses of rows, their values (as many again for each reduction),
  // and for each thread its part of the columns (one, and a maximum and a sum
  // for the fallback). With a cluster per member also the parts of columns,
  // twice, and the resident values.
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
  if (clusterPerMember) // and the column values that threads broadcast
    gather += group * items * 4 * panel.words;
  int64_t stage = groups * matrices * (group * items * element + 32);
  // Each stage also has the beginnings of its rows, and a barrier.
  int64_t fixedOfStage = groups * (8 + 4 * matrices);
  int64_t stages =
      std::min((members.sharedBytes - fixed - gather) / (stage + fixedOfStage),
               mostStages);
  if (clusterPerMember) {
    // All rows are resident, and no stage is unused.
    int64_t wanted = std::max<int64_t>(
        2, divided(divided(members.longest, clusterPerMember), groups));
    if (stages < wanted || fixed + wanted * fixedOfStage > mostFixed)
      return std::nullopt;
    stages = wanted;
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
  // The last block of a cluster has a few columns less than the others.
  int64_t least = divided(std::max<int64_t>(members.narrowest, 1), cluster);
  result.ragged = least - (cluster - 1) <= (items - 1) * group;
  result.sharedBytes = stages * stage + gather;
  return result;
}

/// Clocks of a block's rows in an iteration.
int64_t clocksOf(const Members &members, const PanelClass &shape) {
  int64_t bytes = 0;
  for (int element : members.panel.elementBytes)
    bytes += divided(members.widest, shape.cluster) * element;
  int64_t rows = divided(members.longest, shape.panels());
  bool inCache = bytes * shape.cluster * members.longest <= bytesInCache ||
                 shape.clusterPerMember;
  int64_t item =
      members.panel.computeBytes > 4 ? clocksOfItemInF64 : clocksOfItem;
  return std::max(divided(rows, shape.groups) *
                      (clocksOfRow + shape.itemsPerThread * item +
                       (shape.cluster > 1 ? clocksOfRowInCluster : 0)),
                  rows * bytes /
                      (inCache ? bytesPerClockOfCache : bytesPerClock)) +
         (shape.groups > 1 ? clocksOfGathering : 0);
}

/// The fastest class; of equal ones, that of the fewest thread groups.
std::optional<PanelClass> fastestOf(const Members &members, int cluster,
                                    int clusterPerMember) {
  std::optional<PanelClass> best;
  for (int groups : {1, 2, 4, 8, 16})
    if (auto shape = shapeOf(members, cluster, clusterPerMember, groups))
      if (!best || clocksOf(members, *shape) < clocksOf(members, *best))
        best = shape;
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
          ? formatv("a cluster of {0} for each member, ", clusterPerMember)
                .str()
      : cluster > 1 ? formatv("clusters of {0}, ", cluster).str()
                    : "";
  std::string of =
      groups > 1 ? formatv("{0} thread groups of ", groups).str() : "";
  return formatv("{0}{1}{2} threads with {3} columns each, {4} rows {5}in "
                 "flight",
                 blocks, of, threads / groups, itemsPerThread, stages,
                 groups > 1 ? "of a group " : "")
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
    if (auto shape = fastestOf(members, 1, memberBlocks))
      return shape;
  }
  if (longest > INT32_MAX) // rows are counted in 32 bits
    return std::nullopt;
  for (int cluster : {1, 2, 4, 8})
    if (auto shape = fastestOf(members, cluster, 0))
      return shape;
  return std::nullopt;
}

} // namespace heddle::runtime

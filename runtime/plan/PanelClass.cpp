//===- PanelClass.cpp - Shapes of blocks that keep panels of rows ---------===//

#include "runtime/plan/PanelClass.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {
constexpr int threads = 512;
/// Columns of a thread, at most: with more, what a thread does for the row as a
/// whole no longer shows. A crew that is the whole block is slower than memory
/// before that, for nobody works while it meets.
constexpr int64_t mostItems = 24, mostItemsOfWholeBlock = 20;
/// Stages that a bit each keeps the phase of.
constexpr int64_t mostStages = 32;
/// Rows of a block whose own values it keeps (device/panel_class.cuh), and
/// values.
constexpr int64_t rowsKept = 256, valuesOfRow = 4;
/// Fixed shared memory that a text may declare.
constexpr int64_t mostFixed = 48 * 1024;
/// Registers of a thread, and those that it needs besides its columns: a few of
/// them go to local memory at the limit, which costs less than more blocks to a
/// row.
constexpr int64_t registers = 65536 / threads, otherRegisters = 32;
/// Fixed shared memory that nobody counted: barriers, sums of warps.
constexpr int64_t margin = 2048;
/// Blocks of a cluster that takes a small member alone.
constexpr int team = 16;
/// Architectures whose clusters have so many blocks have shared memory, too.
constexpr int64_t sharedBytesOfTeams = 200 * 1024;

/// What a trip of a block takes, in clocks of an H200, measured on loops that
/// balance matrices: a crew's row as long as its threads wait for each other,
/// and what brings the bytes of a row, from memory or, where a matrix stays
/// there, from the second-level cache.
constexpr int64_t clocksOfRow = 650, clocksOfItem = 48, clocksOfItemInF64 = 200;
constexpr int64_t clocksOfRowInCluster = 600; // more
constexpr int64_t bytesPerClock = 16, bytesPerClockOfCache = 22;
constexpr int64_t bytesInCache = 32 << 20;
/// Crews bring together what they have of the columns.
constexpr int64_t clocksOfGathering = 500;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What panels are to be cut from.
struct Members {
  const PlanPanel &panel;
  int64_t narrowest, widest, longest, sharedBytes;
};

/// The class with `crews` crews of a block, or nothing where it does not fit.
std::optional<PanelClass> shapeOf(const Members &members, int cluster, int team,
                                  int crews) {
  const PlanPanel &panel = members.panel;
  int64_t element = 0, matrices = panel.elementBytes.size();
  for (int bytes : panel.elementBytes)
    element = std::max<int64_t>(element, bytes);
  int64_t crew = threads / crews;
  int64_t items =
      std::max<int64_t>(1, divided(divided(members.widest, cluster), crew));
  if (items > (crews > 1 ? mostItems : mostItemsOfWholeBlock) ||
      items * (panel.words + panel.rowWords) > registers - otherRegisters)
    return std::nullopt;
  // Fixed: where rows lie, their values (as many again for each reduction), and
  // of every thread its part of columns (one, and a maximum and a sum where one
  // must be taken exactly). A team's columns lie there twice, and what its
  // trips hand on.
  int64_t rowsOfBlock = team ? PanelClass::kTeamRows / team : rowsKept;
  int64_t fixed =
      rowsOfBlock * matrices * 16 +
      panel.computeBytes * (rowsOfBlock * valuesOfRow * (1 + panel.rows) +
                            panel.columns * 3 * threads) +
      margin;
  if (team)
    fixed += panel.columns * panel.computeBytes * 2 *
                 (PanelClass::kTeamColumns + 2 * team) +
             rowsOfBlock * panel.keptOfRow +
             PanelClass::kTeamColumns * panel.keptOfColumn;
  int64_t gather = crews > 1 ? threads * items * panel.computeBytes : 0;
  if (team) // and what the walk finds of columns
    gather += crew * items * 4 * panel.words;
  int64_t stage = crews * matrices * (crew * items * element + 32);
  // Of each stage also where its rows begin, and a barrier.
  int64_t fixedOfStage = crews * (8 + 4 * matrices);
  int64_t stages =
      std::min((members.sharedBytes - fixed - gather) / (stage + fixedOfStage),
               mostStages);
  if (team) {
    // All rows stay on chip, and no stage is there for nothing.
    int64_t wanted =
        std::max<int64_t>(2, divided(divided(members.longest, team), crews));
    if (stages < wanted || fixed + wanted * fixedOfStage > mostFixed)
      return std::nullopt;
    stages = wanted;
  }
  if (stages < 2)
    return std::nullopt;
  PanelClass result;
  result.threads = threads;
  result.crews = crews;
  result.items = items;
  result.stages = stages;
  result.cluster = cluster;
  result.team = team;
  if (team &&
      items * (panel.words + 2 * panel.rowWords) <= registers - otherRegisters)
    result.rows = 2;
  // The last block of a cluster has a few columns less than the others.
  int64_t least = divided(std::max<int64_t>(members.narrowest, 1), cluster);
  result.ragged = least - (cluster - 1) <= (items - 1) * crew;
  result.sharedBytes = stages * stage + gather;
  return result;
}

/// Clocks that a trip of a block takes to pass over its rows.
int64_t clocksOf(const Members &members, const PanelClass &shape) {
  int64_t bytes = 0;
  for (int element : members.panel.elementBytes)
    bytes += divided(members.widest, shape.cluster) * element;
  int64_t rows = divided(members.longest, shape.panels());
  bool inCache =
      bytes * shape.cluster * members.longest <= bytesInCache || shape.team;
  int64_t item =
      members.panel.computeBytes > 4 ? clocksOfItemInF64 : clocksOfItem;
  return std::max(divided(rows, shape.crews) *
                      (clocksOfRow + shape.items * item +
                       (shape.cluster > 1 ? clocksOfRowInCluster : 0)),
                  rows * bytes /
                      (inCache ? bytesPerClockOfCache : bytesPerClock)) +
         (shape.crews > 1 ? clocksOfGathering : 0);
}

/// The fastest class; of equal ones, that of the fewest crews.
std::optional<PanelClass> fastestOf(const Members &members, int cluster,
                                    int team) {
  std::optional<PanelClass> best;
  for (int crews : {1, 2, 4, 8, 16})
    if (auto shape = shapeOf(members, cluster, team, crews))
      if (!best || clocksOf(members, *shape) < clocksOf(members, *best))
        best = shape;
  return best;
}
} // namespace

std::vector<std::string> PanelClass::defines() const {
  auto define = [](const char *name, int value) {
    return formatv("-DHEDDLE_PANEL_{0}={1}", name, value).str();
  };
  return {define("THREADS", threads), define("ITEMS", items),
          define("CREWS", crews),     define("STAGES", stages),
          define("CLUSTER", cluster), define("TEAM", team),
          define("RAGGED", ragged),   define("ROWS", rows)};
}

std::string PanelClass::describe() const {
  std::string blocks =
      team          ? formatv("a cluster of {0} for each member, ", team).str()
      : cluster > 1 ? formatv("clusters of {0}, ", cluster).str()
                    : "";
  std::string of = crews > 1 ? formatv("{0} crews of ", crews).str() : "";
  return formatv("{0}{1}{2} threads with {3} columns each, {4} rows {5}on "
                 "their way",
                 blocks, of, threads / crews, items, stages,
                 crews > 1 ? "a crew " : "")
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
  if (panel.clusterPerMember && sharedBytes >= sharedBytesOfTeams &&
      widest <= PanelClass::kTeamColumns && longest <= PanelClass::kTeamRows) {
    if (auto shape = fastestOf(members, 1, team))
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

//===- PanelClass.cpp - Shapes of blocks that keep panels of rows ---------===//

#include "runtime/PanelClass.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {
/// Blocks to choose from, in this order, and the columns of a thread that they
/// go up to. What a thread needs besides its columns it needs whatever their
/// number, so few threads that keep many columns each are faster than many; the
/// longest rows are left to clusters.
struct Block {
  int64_t threads, mostItems, mostItemsOfCluster;
};
constexpr Block blocks[] = {{256, 10, 10}, {512, 12, 24}, {384, 16, 16}};
/// Rows of a step: a power of two.
constexpr int64_t mostRows = 8;
/// Stages that a bit each keeps the phase of.
constexpr int64_t mostStages = 32;
/// Rows of a block whose own values it keeps (device/panel.cuh), and values.
constexpr int64_t rowsKept = 256, valuesOfRow = 8;
/// Registers that a thread needs besides what it keeps of its columns.
constexpr int64_t otherRegisters = 40;
constexpr int64_t registers = 65536, mostRegisters = 255;
/// Fixed shared memory that nobody counted: barriers, sums of warps.
constexpr int64_t margin = 2048;
/// Blocks of a cluster that takes a small member alone: several members are
/// under way at a time.
constexpr int team = 16;
/// Columns and rows beyond which one member is solved faster by all
/// multiprocessors (501 x 601 on an H200: 100 trips in 0.63 ms against 0.88).
constexpr int64_t mostOfTeam = PanelClass::kTeamColumns / 2;
/// Architectures whose clusters have so many blocks have shared memory, too.
constexpr int64_t sharedBytesOfTeams = 200 * 1024;
} // namespace

std::vector<std::string> PanelClass::defines() const {
  auto define = [](const char *name, int value) {
    return formatv("-DHEDDLE_PANEL_{0}={1}", name, value).str();
  };
  return {define("THREADS", threads), define("ITEMS", items),
          define("ROWS", rows),       define("STAGES", stages),
          define("CLUSTER", cluster), define("TEAM", team),
          define("RAGGED", ragged)};
}

std::string PanelClass::describe() const {
  return formatv("{0}{1} threads of {2} columns each, {3} rows a step, {4} "
                 "steps on their way",
                 team
                     ? formatv("a cluster of {0} for each member, ", team).str()
                 : cluster > 1 ? formatv("clusters of {0}, ", cluster).str()
                               : "",
                 threads, items, rows, stages)
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
  auto divided = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  int64_t element = 0, matrices = panel.elementBytes.size();
  for (int bytes : panel.elementBytes)
    element = std::max<int64_t>(element, bytes);
  for (int64_t cluster : {1, 2, 4, 8})
    for (auto [threads, mostItems, mostItemsOfCluster] : blocks) {
      int64_t items =
          std::max<int64_t>(1, divided(divided(widest, cluster), threads));
      if (items > (cluster > 1 ? mostItemsOfCluster : mostItems))
        continue;
      int64_t ownRegisters =
          std::min(registers / threads / 8 * 8, mostRegisters) - otherRegisters;
      // Fixed: where rows lie, their values, and of every thread its part of
      // columns (one, and a maximum and a sum where one must be taken exactly).
      int64_t fixed =
          rowsKept * matrices * 16 +
          panel.computeBytes * (rowsKept * valuesOfRow + 4 * threads) + margin;
      // Steps of several rows cost fewer meetings; two steps are under way.
      int64_t rows = 2 * mostRows, stage, stages;
      while (rows > 2 && rows / 4 * PanelClass::kMostPanels >= longest)
        rows /= 2;
      bool fits;
      do {
        rows /= 2;
        stage = rows * matrices * (threads * items * element + 32);
        stages = std::min((sharedBytes - fixed) / stage, mostStages);
        fits =
            stages >= (rows > 1 ? 5 : 2) &&
            items * (panel.words + 2 * rows * panel.rowWords) <= ownRegisters;
      } while (!fits && rows > 1);
      if (!fits)
        continue;
      PanelClass result;
      result.threads = threads;
      result.items = items;
      result.rows = rows;
      result.stages = stages;
      result.cluster = cluster;
      // The last block of a cluster has a few columns less than the others.
      int64_t least = divided(std::max<int64_t>(narrowest, 1), cluster);
      result.ragged = least - (cluster - 1) <= (items - 1) * threads;
      result.sharedBytes = stages * stage;
      if (sharedBytes >= sharedBytesOfTeams && widest <= mostOfTeam &&
          longest <= mostOfTeam &&
          divided(divided(longest, team), rows) <= stages)
        result.team = team;
      return result;
    }
  return std::nullopt;
}

} // namespace heddle::runtime

//===- CudaOnCpuGraph.cpp - a plan's CUDA source on the host --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a plan on the host as runtime/cuda/Graph.cpp does on a device: allocates
// memory, writes the tables, and launches the nodes in order. Consecutive
// kernels run in one call of the emulated GPU, so that launches that may
// overlap do overlap.
//
//===----------------------------------------------------------------------===//

#include "test/support/cuda_on_cpu/CudaOnCpuGraph.h"
#include "runtime/binding/OperandMoves.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::test {

namespace {
class HostSpace : public AddressSpace {
public:
  Error check(const void *, size_t) override { return Error::success(); }
};

/// A placeholder for the code of an executable of the cpu target.
class NoProgram : public CpuProgram {
public:
  Expected<Sweep> lookup(StringRef) override { return Sweep(); }
};

constexpr size_t kMargin = 256;
/// The most blocks that divide a tile.
constexpr unsigned kMostOfTile = 4;
constexpr char kPoison = char(0xff);
} // namespace

void CudaOnCpuGraph::Area::resize(size_t size, char fill) {
  bytes = size;
  memory.assign(size + 3 * kMargin, kPoison);
  auto address = reinterpret_cast<uintptr_t>(memory.data()) + kMargin;
  at = reinterpret_cast<char *>(address + (-address & (kMargin - 1)));
  std::memset(at, fill, size);
}

bool CudaOnCpuGraph::Area::isIntact() const {
  for (const char *p = memory.data(); p < memory.data() + memory.size(); ++p)
    if ((p < at || p >= at + bytes) && *p != kPoison)
      return false;
  return true;
}

Expected<std::unique_ptr<CudaOnCpuGraph>>
CudaOnCpuGraph::create(Plan plan, std::shared_ptr<HostSource> source) {
  CompiledProgram program;
  program.plan = std::move(plan);
  program.cpu = std::make_shared<NoProgram>();
  auto executable = Executable::create(std::move(program), Target::Cpu, "");
  if (!executable)
    return executable.takeError();
  return std::unique_ptr<CudaOnCpuGraph>(
      new CudaOnCpuGraph(std::move(*executable), std::move(source)));
}

AddressSpace &CudaOnCpuGraph::addressSpace() {
  static HostSpace space;
  return space;
}

Error CudaOnCpuGraph::scalarChanged(int buffer, const ScalarBytes &bytes,
                                    void *) {
  std::memcpy(slots + buffer * sizeof(double), bytes.data(),
              dtypeSize(plan().buffers[buffer].dtype));
  return Error::success();
}

Error CudaOnCpuGraph::read(void *to, const void *from, size_t bytes, void *) {
  std::memcpy(to, from, bytes);
  return Error::success();
}

Error CudaOnCpuGraph::update(Layout &next, void *) {
  if (!slots) {
    std::vector<char> initial = slotValues();
    slotMemory.resize(initial.size(), 0);
    std::memcpy(slotMemory.begin(), initial.data(), initial.size());
    slots = slotMemory.begin();
  }
  arena.resize(next.arenaBytes(), kPoison);
  next.place(arena.begin(), slots);
  scratch.assign(plan().scratch.size(), {});
  for (auto [area, bytes, planned] :
       zip(scratch, next.scratchBytes(), plan().scratch))
    // More blocks may divide a tile than the layout assumes; see below.
    area.resize(planned.per == ScratchPer::TileBlock ? kMostOfTile * bytes
                                                     : bytes,
                planned.zero ? 0 : kPoison);

  tables.assign(plan().tables.size(), {});
  std::vector<std::vector<int64_t>> steps;
  for (auto [index, table] : enumerate(tables)) {
    const PlanTable &planned = plan().tables[index];
    const TableView &view = next.tables()[index];
    DescriptorLayout rows(planned);
    table.members = next.memberDescriptors(index);
    table.tiles.assign(rows.bytes() * view.tileCount, 0);
    table.tickets.assign(view.memberCount + 1, 0);
    table.table = {table.tiles.data(), table.members.data(),
                   table.tickets.data(), view.tileCount, view.memberCount};
    if (planned.blockColumns) // any number of blocks may share a tile
      table.table.blocksPerTile = 1 + seed % kMostOfTile;
    if (planned.rowParts && seed % 2) {
      table.table.blocksPerTile = view.blocksPerTile;
      table.table.partsPerTile = view.partsPerTile;
    }
    // Few rows have a block for each part, so no block has several. With these
    // seeds, two or three blocks divide the parts.
    if (planned.severalParts && seed % 4 == 3)
      table.table.blocksPerTile =
          std::min(view.blocksPerTile, 2 + view.tileCount % 2);
    if (view.tileCount == 0)
      continue;
    // The tile descriptors that the built-in kernel writes must equal those of
    // the host.
    steps.push_back(segmentSteps(plan(), planned));
    int numbers[] = {planned.pointers, planned.rank, view.memberCount,
                     view.tileCount};
    GridLaunch expand{*source->find("heddle_expand_tiles"),
                      {table.members.data(), table.tiles.data(),
                       steps.back().data(), &numbers[0], &numbers[1],
                       &numbers[2], &numbers[3]},
                      static_cast<unsigned>((view.tileCount + 255) / 256)};
    GridRecord record = runOnCpu({expand}, source->hook(), seed);
    if (!record.error.empty())
      return makeError(StatusCode::Failed, "{0}", record.error);
    std::vector<char> expected(table.tiles.size());
    expandTiles(rows, table.members.data(), view.memberCount, steps.back(),
                expected.data(), view.tileCount);
    if (expected != table.tiles)
      return makeError(
          StatusCode::Failed,
          "tile descriptors of '{0}' differ from those of the host",
          planned.name);
  }
  return Error::success();
}

Error CudaOnCpuGraph::move(const Rebinding &rebinding,
                           ArrayRef<MovedMember> moved, void *) {
  // The built-in kernel must write the descriptors that the host writes.
  std::vector<std::pair<std::vector<char>, std::vector<char>>> expected;
  std::vector<TableDescriptors> descriptors;
  for (auto [planned, table] : zip(plan().tables, tables)) {
    expected.emplace_back(table.members, table.tiles);
    TableDescriptors &found = descriptors.emplace_back();
    found.members = table.members.data();
    found.tiles = table.tiles.empty() ? nullptr : table.tiles.data();
    found.firstTiles = firstTilesOf(DescriptorLayout(planned), found.members,
                                    table.table.memberCount);
    found.firstTiles.push_back(table.table.tileCount);
  }
  for (const MovedMember &member : moved)
    for (const Rebinding::Slot &slot : rebinding.slotsOf(member))
      moveOperand(DescriptorLayout(plan().tables[slot.table]),
                  expected[slot.table].first.data(),
                  expected[slot.table].second.data(), slot.offset,
                  member.address);
  for (OperandMoves &moves :
       operandMoves(plan(), rebinding, moved, descriptors)) {
    GridLaunch launch{*source->find("heddle_move_operands"),
                      {&moves},
                      static_cast<unsigned>((moves.threads() + 255) / 256)};
    GridRecord record = runOnCpu({launch}, source->hook(), seed);
    if (!record.error.empty())
      return makeError(StatusCode::Failed, "{0}", record.error);
  }
  for (auto [planned, table, wanted] : zip(plan().tables, tables, expected))
    if (table.members != wanted.first || table.tiles != wanted.second)
      return makeError(
          StatusCode::Failed,
          "moved descriptors of '{0}' differ from those of the host",
          planned.name);
  return Error::success();
}

Error CudaOnCpuGraph::replay(void *stream) {
  if (needsPrepare())
    if (Error error = prepare(stream))
      return error;
  ran.clear();
  if (Error error = run(plan().graph))
    return error;
  return checkAtRest();
}

const PlanVariant *CudaOnCpuGraph::choose(const PlanNode &node) const {
  const PlanVariant *found = nullptr;
  // The launch that ends members passes scalars as that of the tiles does.
  StringRef suffix = chosen;
  if (node.part == SweepPart::Ends)
    suffix = suffix.consume_front("_tiles_") ? "_ends_by_address" : "_ends";
  for (const PlanVariant &variant : node.variants) {
    bool holds = !variant.maxColumns ||
                 layout->tables()[node.table].widest <= *variant.maxColumns;
    if (variant.maxParts) {
      int blocks = tables[node.table].table.blocksPerTile;
      const TableView &view = layout->tables()[node.table];
      const PlanTable &table = plan().tables[node.table];
      holds = (blocks > 1 || table.severalParts) &&
              blocks <= *variant.maxParts &&
              haveShortParts(table, view.narrowest, view.widest);
    }
    // Several entries for held rows differ in the most columns of a row.
    StringRef entry = variant.entry;
    if (holds && !entry.empty() &&
        (entry.ends_with(suffix) ||
         (suffix == "_held_rows" && entry.contains("_held_rows_"))))
      return &variant;
    if (variant.graphForm || (!found && !variant.hasPredicate()))
      found = &variant;
  }
  return found;
}

bool CudaOnCpuGraph::fitsPanels(const PlanNode &node) const {
  if (!node.panel || chosen != "_panels")
    return false;
  const PanelOptions &panels = source->panels();
  const TableView &view = layout->tables()[node.panel->table];
  const runtime::PanelClass &shape = panels.shape;
  // Only the last column of each thread may be missing, also in the last block
  // of a cluster.
  int64_t least = (std::max<int64_t>(view.narrowest, 1) - 1) / shape.cluster +
                  1 - (shape.cluster - 1);
  return view.memberCount > 0 && view.widest <= panels.columns() &&
         (shape.ragged ||
          least > (shape.itemsPerThread - 1) * (shape.threads / shape.groups));
}

void CudaOnCpuGraph::moveAway(Table &table, const PlanTable &planned,
                              const PlanVariant &variant) {
  DescriptorLayout layout(planned);
  table.movedTiles = table.tiles;
  table.movedTable = table.table;
  table.movedTable.tiles = table.movedTiles.data();
  size_t members = kMostDistances / variant.distances.size();
  table.distances.assign(members * variant.distances.size(), 0);
  for (int tile = 0; tile < table.table.tileCount; ++tile) {
    char *descriptor = table.movedTiles.data() + tile * layout.bytes();
    int32_t member;
    std::memcpy(&member, descriptor + layout.memberOffset(), sizeof(member));
    for (auto [nth, slot] : enumerate(variant.distances)) {
      int32_t segment;
      std::memcpy(&segment, descriptor + layout.memberOffset() + 4,
                  sizeof(segment));
      // As in a rebinding, arguments move that the program only reads.
      ArrayRef<PlanOperand> operands = planned.segments[segment].operands;
      if (member >= static_cast<int>(members) ||
          slot >= static_cast<int>(operands.size()))
        continue;
      const PlanOperand &operand = operands[slot];
      const PlanBuffer &buffer = plan().buffers[operand.buffer];
      if (buffer.kind != BufferKind::List || buffer.donated ||
          buffer.role != BufferRole::Argument ||
          operand.index == OperandIndex::Length)
        continue;
      size_t k = nth * members + member;
      table.distances[k] =
          k % 3 == 2 ? 0 : (int64_t(k * 7919 % 4001) - 2000) * 16;
      int64_t address;
      char *at = descriptor + slot * sizeof(void *);
      std::memcpy(&address, at, sizeof(address));
      address -= table.distances[k];
      std::memcpy(at, &address, sizeof(address));
    }
  }
}

Expected<GridLaunch>
CudaOnCpuGraph::launchOf(const PlanNode &node, const PlanVariant &variant,
                         ArrayRef<PlanArgument> arguments) {
  const heddle_entry *entry = source->find(variant.entry);
  if (!entry)
    return makeError(StatusCode::Failed, "there is no entry '{0}'",
                     variant.entry);
  int expected = arguments.size() + !variant.distances.empty();
  if (entry->parameters != expected)
    return makeError(StatusCode::Failed,
                     "'{0}' has {1} parameters and its node {2} arguments",
                     entry->name, entry->parameters, expected);
  if (node.hasByValueScalars() && entry->by_value != variant.scalarsByValue)
    return makeError(StatusCode::Failed,
                     "'{0}' and its variant disagree on by-value scalars",
                     entry->name);
  GridLaunch launch;
  launch.entry = *entry;
  launch.block = variant.block;
  launch.cooperative = variant.cooperative;
  if (variant.cluster)
    launch.cluster = tables[node.table].table.blocksPerTile;
  int64_t tiles = 0, members = 0;
  for (const PlanArgument &argument : arguments)
    switch (argument.kind) {
    case ArgumentKind::Table: {
      DeviceTable &table = tables[argument.index].table;
      launch.slots.push_back(&table);
      tiles = std::max(tiles, int64_t(table.tileCount) * table.blocksPerTile);
      if (plan().tables[argument.index].rowParts)
        launch.together =
            std::max<unsigned>(launch.together, table.blocksPerTile);
      members = std::max<int64_t>(members, table.memberCount);
      Table &own = tables[argument.index];
      if (!variant.distances.empty())
        moveAway(own, plan().tables[argument.index], variant);
      // The launch that ends members reads the same descriptors.
      bool ends = node.part == SweepPart::Ends && !own.movedTiles.empty();
      if (!variant.distances.empty() || ends)
        launch.slots.back() = &own.movedTable;
      break;
    }
    case ArgumentKind::Buffer:
    case ArgumentKind::Scalar:
      launch.slots.push_back(layout->scalarAddress(argument.index));
      break;
    case ArgumentKind::Scratch:
      launch.slots.push_back(scratch[argument.index].begin());
      break;
    }
  if (!variant.distances.empty())
    launch.slots.push_back(tables[node.table].distances.data());
  launch.grid = variant.grid == GridKind::Members ? members
                : variant.grid == GridKind::Fixed ? variant.gridBlocks
                : variant.grid == GridKind::Resident
                    ? std::min<int64_t>(tiles, 1 + seed % 5)
                    : tiles;
  if (launch.grid == 0 && node.always)
    launch.grid = 1;
  ran.push_back(entry->name);
  return launch;
}

Error CudaOnCpuGraph::runLaunches(std::vector<GridLaunch> &launches) {
  if (launches.empty())
    return Error::success();
  GridRecord record = runOnCpu(launches, source->hook(), seed);
  if (seed)
    seed = seed * 6364136223846793005 + 4;
  launches.clear();
  switches += record.switches;
  slotSwitches += record.slotSwitches;
  if (!record.error.empty())
    return makeError(StatusCode::Failed, "{0}", record.error);
  return Error::success();
}

Error CudaOnCpuGraph::run(const PlanGraph &graph) {
  // Consecutive kernels are launches of one run of the emulated GPU, with the
  // edges between them; every other node runs by itself.
  std::vector<GridLaunch> launches;
  std::vector<int> positions(graph.nodes.size(), -1);
  auto flush = [&] {
    positions.assign(positions.size(), -1);
    return runLaunches(launches);
  };
  for (auto [index, node] : enumerate(graph.nodes)) {
    if (node.kind == NodeKind::Kernel) {
      Expected<GridLaunch> launch =
          launchOf(node, *choose(node), node.arguments);
      if (!launch)
        return launch.takeError();
      if (launch->grid == 0) // no work: only its dependencies must complete
        if (Error error = flush())
          return error;
      if (launch->grid == 0)
        continue;
      for (const PlanEdge &edge : graph.edges)
        if (edge.to == static_cast<int>(index) && positions[edge.from] >= 0)
          launch->dependencies.push_back(
              {static_cast<unsigned>(positions[edge.from]), edge.programmatic});
      positions[index] = launches.size();
      launches.push_back(std::move(*launch));
      continue;
    }
    if (Error error = flush())
      return error;
    if (node.kind == NodeKind::While) {
      if (Error error = runLoop(node))
        return error;
    } else if (node.kind == NodeKind::Copy) {
      for (const Span &span : layout->spans(node.from, node.to))
        std::memcpy(span.to, span.from, span.bytes);
    } else {
      uint64_t pattern = fillPattern(plan().buffers[node.to].dtype, node.value);
      for (const Span &span : layout->spans(-1, node.to))
        for (int64_t at = 0; at < span.bytes; ++at)
          span.to[at] = reinterpret_cast<const char *>(&pattern)[at % 8];
    }
  }
  return flush();
}

Error CudaOnCpuGraph::runLoop(const PlanNode &node) {
  if (fitsPanels(node)) {
    PlanVariant panels;
    const PanelClass &shape = source->panels().shape;
    panels.entry = node.panel->entry;
    panels.block = shape.threads;
    panels.grid = GridKind::Fixed;
    int cluster = std::max(shape.cluster, shape.clusterPerMember);
    panels.gridBlocks = (1 + seed % 5) * cluster;
    panels.cooperative = true;
    Expected<GridLaunch> launch = launchOf(node, panels, node.panel->arguments);
    if (!launch)
      return launch.takeError();
    launch->cluster = cluster;
    // Sometimes each half of the members has a launch, the last members first.
    Table &table = tables[node.panel->table];
    const int count = table.table.memberCount;
    for (int first = 0, half = seed % 2 ? (count + 1) / 2 : count;
         first < count; first += half) {
      std::vector<int> chosen;
      for (int k = first; seed % 2 && k < std::min(first + half, count); ++k)
        chosen.push_back(count - 1 - k);
      if (!chosen.empty()) {
        table.table.chosen = chosen.data();
        table.table.memberCount = chosen.size();
      }
      std::vector<GridLaunch> alone = {*launch};
      Error error = runLaunches(alone);
      table.table.chosen = nullptr;
      table.table.memberCount = count;
      if (error)
        return error;
    }
    return Error::success();
  }
  const PlanVariant &variant = *choose(node);
  if (!variant.graphForm) {
    Expected<GridLaunch> launch = launchOf(node, variant, node.arguments);
    if (!launch)
      return launch.takeError();
    launch->grid = std::max(1u, launch->grid);
    std::vector<GridLaunch> alone = {std::move(*launch)};
    return runLaunches(alone);
  }
  auto *iterations =
      reinterpret_cast<int32_t *>(layout->scalarAddress(node.iterations));
  auto *limit = reinterpret_cast<int32_t *>(layout->scalarAddress(node.limit));
  *iterations = 0;
  for (bool more = *limit > 0; more;) {
    if (Error error = run(node.body))
      return error;
    more = ++*iterations < *limit &&
           any_of(
               layout->spans(-1, node.condition),
               [](const Span &flag) { return *flag.to != 0; });
  }
  return Error::success();
}

/// Checks that all tickets are zero again, and that nothing was written outside
/// of our memory.
/// Whether nothing was written beside the members of owned lists, which do not
/// fill the arena: each begins at a multiple of the alignment.
bool CudaOnCpuGraph::arePaddingsIntact() {
  std::vector<std::pair<char *, char *>> members;
  for (auto [buffer, view] : zip(plan().buffers, layout->buffers()))
    if (view.owned && buffer.kind == BufferKind::List)
      for (const MemberView &member : view.members)
        if (!member.inactive)
          members.emplace_back(member.address,
                               member.address +
                                   member.reach() * dtypeSize(buffer.dtype));
  char *end = arena.begin() + layout->arenaBytes();
  members.emplace_back(end, end);
  sort(members);
  char *at = arena.begin();
  for (auto [first, last] : members) {
    if (std::any_of(at, std::max(at, first),
                    [](char byte) { return byte != kPoison; }))
      return false;
    at = std::max(at, last);
  }
  return true;
}

Error CudaOnCpuGraph::checkAtRest() {
  for (auto [index, table] : enumerate(tables))
    for (unsigned ticket : table.tickets)
      if (ticket != 0)
        return makeError(StatusCode::Failed,
                         "a ticket of table '{0}' is {1} after the step",
                         plan().tables[index].name, ticket);
  for (auto [index, area] : enumerate(scratch))
    if (!area.isIntact())
      return makeError(StatusCode::Failed,
                       "memory beside scratch area {0} was written", index);
  if (!arena.isIntact() || !arePaddingsIntact() || !slotMemory.isIntact())
    return makeError(StatusCode::Failed,
                     "memory beside results or scalars was written");
  return Error::success();
}

} // namespace heddle::test

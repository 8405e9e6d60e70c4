//===- PlanExtraction.cpp - from placed IR to a plan ----------------------===//
//
// One node for every sweep and loop, a copy where a value is wanted elsewhere
// than where it lives, and an edge wherever two nodes touch the same buffer.
//
//===----------------------------------------------------------------------===//

#include "codegen/PlanExtraction.h"
#include "codegen/PanelLayout.h"
#include "codegen/SweepLayout.h"
#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/Names.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle::runtime;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle {

namespace {
/// The buffers that a node touches.
struct Access {
  llvm::DenseSet<int> reads, writes;
  void add(const Access &other) {
    reads.insert_range(other.reads);
    writes.insert_range(other.writes);
  }
};

class Extraction {
public:
  Extraction(fused::KernelOp kernel, const Buffers &buffers)
      : kernel(kernel), buffers(buffers) {}
  FailureOr<Plan> run();

private:
  LogicalResult addBuffers();
  LogicalResult addBlock(Block &block, PlanGraph &graph,
                         SmallVectorImpl<Access> &accesses);
  FailureOr<Access> addSweep(fused::SweepOp sweep, PlanGraph &graph);
  FailureOr<Access> addLoop(fused::LoopOp loop, PlanGraph &graph);
  void addLoopVariants(fused::LoopOp loop, PlanNode &node);
  void addPanel(fused::LoopOp loop, PlanNode &node);
  void addFlags(fused::LoopOp loop, PlanGraph &graph,
                SmallVectorImpl<Access> &accesses);
  void addCopy(int from, int to, PlanGraph &graph,
               SmallVectorImpl<Access> &accesses);
  int addTable(fused::SweepOp sweep, const SweepLayout &layout);

  fused::KernelOp kernel;
  const Buffers &buffers;
  Plan plan;
};
} // namespace

static DType dtypeOf(Type type) {
  if (type.isF64())
    return DType::F64;
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return DType::I1;
  case 8:
    return DType::I8;
  case 16:
    return DType::I16;
  case 32:
    return DType::I32;
  default:
    return DType::I64;
  }
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult Extraction::addBuffers() {
  llvm::StringSet<> argumentNames;
  for (const Buffer &buffer : buffers.all()) {
    if (buffer.role == BufferRole::argument &&
        !argumentNames.insert(buffer.name).second)
      return kernel.emitOpError("has two arguments called '")
             << buffer.name << "'; they are bound by name";
    PlanBuffer result;
    result.name = buffer.name;
    result.kind = isList(buffer.type) ? BufferKind::List : BufferKind::Scalar;
    result.dtype = dtypeOf(storageType(buffer.type));
    result.rank = rankOf(buffer.type);
    result.role = static_cast<runtime::BufferRole>(buffer.role);
    result.donated = buffer.donated;
    result.defaultValue = buffer.defaultValue;
    for (auto [from, dimension] : buffer.extents)
      result.extents.push_back({from, dimension});
    result.members = buffer.members;
    plan.buffers.push_back(std::move(result));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// An entry of a vector is found by the body, in the vector as a whole.
static OperandIndex indexOf(int32_t index) {
  return isEntryIndex(index) ? OperandIndex::None
         : index == kLength  ? OperandIndex::Length
         : index == kStride  ? OperandIndex::Stride
                             : static_cast<OperandIndex>(index);
}

static PlanSegment segmentOf(const SegmentLayout &layout, int64_t rank) {
  PlanSegment segment;
  segment.tile = layout.tile;
  auto extent = [&](int32_t index, int dimension) -> std::optional<ExtentRef> {
    for (const OperandSlot &slot : layout.operands)
      if (slot.index == index)
        return ExtentRef{slot.buffer, dimension};
    return std::nullopt;
  };
  for (const OperandSlot &slot : layout.operands)
    segment.operands.push_back({slot.buffer, indexOf(slot.index)});
  if (rank == 2) {
    segment.count = extent(kIJ, 0);
    if (!segment.count)
      segment.count = extent(kI, 0);
    segment.columns = extent(kIJ, 1);
    if (!segment.columns)
      segment.columns = extent(kJ, 0);
  } else {
    segment.count = extent(kI, 0);
  }
  return segment;
}

int Extraction::addTable(fused::SweepOp sweep, const SweepLayout &layout) {
  PlanTable table;
  table.name = layout.name;
  table.rank = layout.rank == 2 ? 2 : 1;
  table.pointers = std::max<int64_t>(1, layout.pointers);
  table.blockColumns = layout.columns;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    table.segments.push_back(segmentOf(segment, layout.rank));
    // The order of a reduction must not depend on alignment.
    Block &body = sweep.getSegmentBlock(s);
    table.segments.back().shift =
        table.rank == 1 && table.segments.back().count &&
        llvm::none_of(layout.scratch, [&](const ScratchSlot &slot) {
          return slot.per == heddle::ScratchPer::tile &&
                 slot.owner->getBlock() == &body;
        });
  }
  plan.tables.push_back(std::move(table));
  return plan.tables.size() - 1;
}

static Access accessOf(const SweepLayout &layout) {
  Access access;
  for (const SegmentLayout &segment : layout.segments)
    for (const OperandSlot &slot : segment.operands) {
      if (slot.read)
        access.reads.insert(slot.buffer);
      if (slot.written)
        access.writes.insert(slot.buffer);
    }
  for (const ScalarSlot &slot : layout.scalars) {
    if (slot.read)
      access.reads.insert(slot.buffer);
    if (slot.written)
      access.writes.insert(slot.buffer);
  }
  return access;
}

static void addVariants(PlanNode &node, const SweepLayout &layout,
                        bool inLoop) {
  SmallVector<cuda::Entry> entries = cuda::entriesOf(layout, inLoop);
  for (const cuda::Entry &entry : entries) {
    PlanVariant &variant = node.variants.emplace_back();
    variant.entry = layout.name + entry.suffix.str();
    variant.block = layout.threads;
    variant.scalarsByValue = entry.byValue && node.hasByValueScalars();
    if (entry.passing)
      variant.fitsL2 = kCachedPartOfL2;
  }
}

FailureOr<Access> Extraction::addSweep(fused::SweepOp sweep, PlanGraph &graph) {
  auto layout = SweepLayout::compute(sweep, buffers);
  if (failed(layout))
    return failure();
  PlanNode node;
  node.kind = NodeKind::Kernel;
  node.name = layout->name;
  node.sweeps.push_back(layout->name);
  node.table = addTable(sweep, *layout);
  node.arguments.push_back({ArgumentKind::Table, node.table});
  Access access = accessOf(*layout);
  for (const ScalarSlot &slot : layout->scalars)
    node.arguments.push_back(
        {slot.isNumber ? ArgumentKind::Scalar : ArgumentKind::Buffer,
         slot.buffer});
  for (const ScratchSlot &slot : layout->scratch) {
    PlanScratch scratch;
    scratch.per = slot.per == heddle::ScratchPer::ticket
                      ? runtime::ScratchPer::Tile
                      : static_cast<runtime::ScratchPer>(slot.per);
    scratch.table = slot.per == heddle::ScratchPer::once ? -1 : node.table;
    scratch.bytes = slot.bytes;
    scratch.zero = slot.zero;
    node.arguments.push_back(
        {ArgumentKind::Scratch, static_cast<int>(plan.scratch.size())});
    plan.scratch.push_back(scratch);
  }
  addVariants(node, *layout, isa<fused::LoopOp>(sweep->getParentOp()));
  node.writes.assign(access.writes.begin(), access.writes.end());
  llvm::sort(node.writes);
  node.always = layout->endsList;
  graph.nodes.push_back(std::move(node));
  return access;
}

//===----------------------------------------------------------------------===//
// Loops and copies
//===----------------------------------------------------------------------===//

void Extraction::addCopy(int from, int to, PlanGraph &graph,
                         SmallVectorImpl<Access> &accesses) {
  PlanNode node;
  node.kind = NodeKind::Copy;
  node.name = "copy_" + plan.buffers[from].name;
  node.from = from;
  node.to = to;
  node.writes = {to};
  graph.nodes.push_back(std::move(node));
  Access access;
  access.reads.insert(from);
  access.writes.insert(to);
  accesses.push_back(access);
}

/// Every member is active when the first trip begins.
void Extraction::addFlags(fused::LoopOp loop, PlanGraph &graph,
                          SmallVectorImpl<Access> &accesses) {
  PlanNode node;
  node.kind = NodeKind::Fill;
  node.to = buffers.of(loop.getActive());
  node.name = "fill_" + plan.buffers[node.to].name;
  node.value = 1;
  node.writes = {node.to};
  graph.nodes.push_back(std::move(node));
  Access access;
  access.writes.insert(graph.nodes.back().to);
  accesses.push_back(access);
}

/// A small loop runs in one launch whose blocks meet between sweeps; a large
/// one as a WHILE node, whose sweeps have a block for every tile. Where
/// conditional nodes cannot be (in a capture of the user's) the first form
/// serves all sizes.
void Extraction::addLoopVariants(fused::LoopOp loop, PlanNode &node) {
  PlanVariant graph;
  graph.graphForm = true;
  if (!cuda::runsInOneLaunch(loop, buffers)) {
    node.variants.push_back(graph);
    return;
  }
  PlanVariant launch;
  launch.entry = node.name + "_in_one_launch";
  launch.block = cuda::kLoopThreads;
  launch.grid = GridKind::Resident;
  launch.cooperative = true;
  launch.maxTiles = kMaxLoopTiles;
  graph.minTiles = kMaxLoopTiles + 1;
  node.variants.push_back(launch);
  node.variants.push_back(graph);
  launch.maxTiles.reset();
  node.variants.push_back(launch);
  // The arguments of its sweeps, one after the other, then its own.
  // The number of the trip is in a register.
  for (const PlanNode &inner : node.body.nodes)
    llvm::copy_if(inner.arguments, std::back_inserter(node.arguments),
                  [&](const PlanArgument &argument) {
                    return argument.kind != ArgumentKind::Buffer ||
                           argument.index != node.iterations;
                  });
  for (int buffer : {node.iterations, node.limit})
    node.arguments.push_back({ArgumentKind::Buffer, buffer});
  // The flags of members are in the rows of a table.
  if (!loop.getActive())
    node.arguments.push_back({ArgumentKind::Buffer, node.condition});
  node.arguments.push_back(
      {ArgumentKind::Scratch, static_cast<int>(plan.scratch.size())});
  PlanScratch barrier;
  barrier.bytes = 8;
  barrier.zero = true;
  plan.scratch.push_back(barrier);
}

/// One launch for the loop, where its members are matrices whose rows meet
/// their columns in every trip.
void Extraction::addPanel(fused::LoopOp loop, PlanNode &node) {
  auto layout = PanelLayout::compute(loop, buffers);
  if (!layout)
    return;
  const PlanNode &sweep = node.body.nodes.front();
  auto slots = SweepLayout::compute(
      cast<fused::SweepOp>(loop.getBody().front().front()), buffers);
  PlanPanel panel;
  panel.entry = cuda::identifierFrom(layout->name);
  panel.table = sweep.table;
  panel.words = layout->words;
  panel.rowWords = layout->rowWords;
  panel.columns = layout->passes.columns.size();
  panel.rows = layout->passes.rows.size();
  panel.clusterPerMember = layout->team;
  panel.keptOfRow = layout->keptOfRow;
  panel.keptOfColumn = layout->keptOfColumn;
  for (int slot : layout->matrices)
    panel.elementBytes.push_back(
        storageBytes(slots->segments[0].operands[slot].storage));
  panel.arguments.push_back({ArgumentKind::Table, sweep.table});
  for (auto [k, slot] : llvm::enumerate(slots->scalars))
    if (slots->trip != static_cast<int>(k))
      panel.arguments.push_back(
          {slot.isNumber ? ArgumentKind::Scalar : ArgumentKind::Buffer,
           slot.buffer});
  panel.arguments.push_back({ArgumentKind::Buffer, layout->limit});
  auto addScratch = [&](runtime::ScratchPer per, int64_t bytes, bool zero) {
    PlanScratch area;
    area.per = per;
    area.table = per == runtime::ScratchPer::Once ? -1 : sweep.table;
    area.bytes = bytes;
    area.zero = zero;
    panel.arguments.push_back(
        {ArgumentKind::Scratch, static_cast<int>(plan.scratch.size())});
    plan.scratch.push_back(area);
  };
  for (const PanelScratch &area : layout->scratch) {
    panel.computeBytes = std::max<int>(panel.computeBytes, area.bytes);
    addScratch(area.per == PanelScratchPer::row ? runtime::ScratchPer::Row
               : area.per == PanelScratchPer::panel
                   ? runtime::ScratchPer::Panel
                   : runtime::ScratchPer::PanelColumn,
               area.bytes, /*zero=*/false);
  }
  addScratch(runtime::ScratchPer::Once, panel_barrier_bytes, /*zero=*/true);
  node.panel = std::move(panel);
}

static void addEdges(PlanGraph &graph, ArrayRef<Access> accesses, bool inLoop);

FailureOr<Access> Extraction::addLoop(fused::LoopOp loop, PlanGraph &graph) {
  PlanNode node;
  node.kind = NodeKind::While;
  auto name = loop->getAttrOfType<StringAttr>(kNameAttr);
  node.name = name ? name.getValue().str() : "loop";
  SmallVector<Access> accesses;
  if (failed(addBlock(loop.getBody().front(), node.body, accesses)))
    return failure();
  auto yield = loop.getYield();
  llvm::DenseSet<int> copied;
  for (auto [value, result] : llvm::zip(yield.getValues(), loop.getResults())) {
    int from = buffers.of(value), to = buffers.of(result);
    if (to < 0 || from == to)
      continue;
    if (copied.contains(from))
      return loop.emitOpError("exchanges carried values, which its buffers do "
                              "not allow");
    addCopy(from, to, node.body, accesses);
    copied.insert(to);
  }
  // A trip begins with the flags that the one before ended with.
  node.condition = buffers.of(yield.getMore());
  if (Value active = loop.getActive())
    if (int to = buffers.of(active); to != node.condition) {
      addCopy(node.condition, to, node.body, accesses);
      node.condition = to;
    }
  addEdges(node.body, accesses, /*inLoop=*/true);
  node.iterations = buffers.of(loop.getTrips());
  node.limit = buffers.of(loop.getLimit());
  addLoopVariants(loop, node);
  addPanel(loop, node);
  Access access;
  for (const Access &inner : accesses)
    access.add(inner);
  access.reads.insert(node.limit);
  access.reads.insert(node.condition);
  access.writes.insert(node.iterations);
  node.writes.assign(access.writes.begin(), access.writes.end());
  llvm::sort(node.writes);
  graph.nodes.push_back(std::move(node));
  return access;
}

static bool conflict(const Access &before, const Access &after) {
  auto touches = [](const llvm::DenseSet<int> &a,
                    const llvm::DenseSet<int> &b) {
    return llvm::any_of(a, [&](int buffer) { return b.contains(buffer); });
  };
  return touches(before.writes, after.reads) ||
         touches(before.reads, after.writes) ||
         touches(before.writes, after.writes);
}

LogicalResult Extraction::addBlock(Block &block, PlanGraph &graph,
                                   SmallVectorImpl<Access> &accesses) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<fused::LoopOp>(op)) {
      for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
        if (buffers.of(init) != buffers.of(carried))
          addCopy(buffers.of(init), buffers.of(carried), graph, accesses);
      if (loop.getActive())
        addFlags(loop, graph, accesses);
      auto access = addLoop(loop, graph);
      if (failed(access))
        return failure();
      accesses.push_back(*access);
      continue;
    }
    auto access = addSweep(cast<fused::SweepOp>(op), graph);
    if (failed(access))
      return failure();
    accesses.push_back(*access);
  }
  return success();
}

/// An edge wherever two nodes touch the same buffer, less those that a chain of
/// others implies.
static void addEdges(PlanGraph &graph, ArrayRef<Access> accesses, bool inLoop) {
  size_t count = graph.nodes.size();
  std::vector<llvm::BitVector> after(count, llvm::BitVector(count));
  for (size_t to = 0; to < count; ++to) {
    size_t first = graph.edges.size();
    for (size_t from = to; from-- > 0;) {
      if (after[to].test(from) || !conflict(accesses[from], accesses[to]))
        continue;
      graph.edges.push_back({static_cast<int>(from), static_cast<int>(to)});
      after[to] |= after[from];
      after[to].set(from);
    }
    // A sweep waits by itself for the one right before it, and for no other.
    if (!inLoop && graph.edges.size() == first + 1 &&
        graph.edges.back().from + 1 == static_cast<int>(to) &&
        graph.nodes[to].kind == NodeKind::Kernel &&
        graph.nodes[to - 1].kind == NodeKind::Kernel)
      graph.edges.back().programmatic = true;
  }
}

FailureOr<Plan> Extraction::run() {
  plan.name = kernel.getSymName();
  if (failed(addBuffers()))
    return failure();
  SmallVector<Access> accesses;
  Block &block = kernel.getBody().front();
  if (failed(addBlock(block, plan.graph, accesses)))
    return failure();
  auto yield = cast<fused::YieldOp>(block.getTerminator());
  llvm::StringSet<> resultNames;
  for (auto [k, value] : llvm::enumerate(yield.getValues())) {
    int buffer = buffers.of(value);
    if (buffer < 0)
      return kernel.emitOpError("result #") << k << " was not placed";
    for (BlockArgument argument : block.getArguments()) {
      auto donated = dyn_cast_or_null<IntegerAttr>(
          kernel.getArgAttr(argument.getArgNumber(), foreach::kDonateAttr));
      if (!donated || donated.getInt() != static_cast<int64_t>(k))
        continue;
      if (int to = argument.getArgNumber(); to != buffer) {
        addCopy(buffer, to, plan.graph, accesses);
        buffer = to;
      }
    }
    // Two results that are one value live in one buffer.
    std::string name = buffers[buffer].name;
    for (unsigned n = 2; !resultNames.insert(name).second; ++n)
      name = buffers[buffer].name + "_" + std::to_string(n);
    plan.results.push_back({name, buffer});
  }
  addEdges(plan.graph, accesses, /*inLoop=*/false);
  return plan;
}

FailureOr<Plan> extractPlan(fused::KernelOp kernel, const Buffers &buffers) {
  return Extraction(kernel, buffers).run();
}

} // namespace heddle

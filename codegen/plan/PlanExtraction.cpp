//===- PlanExtraction.cpp - the plan of a program -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each node of the program becomes a node of the plan, and each dependence
// between two nodes an edge (ProgramNodes.h). A sweep whose members end in a
// launch of their own becomes two nodes. All decisions come from the IR.
//
//===----------------------------------------------------------------------===//

#include "codegen/plan/PlanExtraction.h"
#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/Names.h"
#include "codegen/layout/KernelSignature.h"
#include "codegen/layout/ProgramNodes.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "llvm/ADT/StringSet.h"
#include <functional>

using namespace mlir;
using namespace heddle::runtime;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle {

namespace {
class Extraction {
public:
  Extraction(fused::ProgramOp program, const Buffers &buffers)
      : program(program), buffers(buffers) {}
  FailureOr<Plan> run();

private:
  LogicalResult addBuffers();
  LogicalResult addNodes(const ProgramNodes &nodes, PlanGraph &graph);
  /// The first and the last node of a plan that a node of the program became.
  using NodeRange = std::pair<int, int>;
  LogicalResult addEdges(const ProgramNodes &nodes,
                         ArrayRef<NodeRange> positions, PlanGraph &graph);
  LogicalResult addSweep(const ProgramNode &input, PlanGraph &graph);
  LogicalResult addLoop(const ProgramNode &input, PlanGraph &graph);
  LogicalResult addLoopVariants(fused::LoopOp loop, PlanNode &node);
  LogicalResult addPanel(fused::LoopOp loop, PlanNode &node);
  void addCopy(const ProgramNode &input, PlanGraph &graph);
  void addFill(const ProgramNode &input, PlanGraph &graph);
  int addTable(fused::SweepOp sweep, const SweepLayout &layout);
  PlanArgument addScratch(runtime::ScratchPer per, int table, int64_t bytes,
                          bool zero);

  fused::ProgramOp program;
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
      return program.emitOpError("expected arguments with different names, "
                                 "found two named '")
             << buffer.name << "'";
    if (buffer.role != BufferRole::argument &&
        static_cast<int64_t>(buffer.extents.size()) != rankOf(buffer.type))
      return program.emitOpError("expected the extents of buffer '")
             << buffer.name << "' of type " << buffer.type << ", found "
             << buffer.extents.size();
    PlanBuffer result;
    result.name = buffer.name;
    result.kind = isList(buffer.type) ? BufferKind::List : BufferKind::Scalar;
    result.dtype = dtypeOf(storageType(buffer.type));
    result.rank = rankOf(buffer.type);
    result.role = static_cast<runtime::BufferRole>(buffer.role);
    result.donated = buffer.donated;
    result.defaultValue = buffer.defaultValue;
    result.positive = buffer.positive;
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

/// The index of an operand in a table. A body computes the address of a
/// vector's entry, so the table has the address of the vector.
static OperandIndex indexOf(int32_t index) {
  return isEntryIndex(index) ? OperandIndex::None
         : index == kLength  ? OperandIndex::Length
         : index == kStride  ? OperandIndex::Stride
                             : static_cast<OperandIndex>(index);
}

static PlanSegment segmentOf(const SegmentLayout &layout, int64_t rank) {
  PlanSegment segment;
  segment.tile = layout.tile;
  segment.held = layout.held;
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
  table.blockColumns = layout.columns ? layout.columns : layout.columnRange;
  table.rowParts = layout.rowParts;
  table.heldParts = layout.heldParts;
  table.severalParts = layout.severalParts;
  table.longParts = layout.longParts;
  table.wholeColumns = layout.wholeColumns;
  // Sums over the list are in the order of its members, and so are the panels
  // of a loop.
  table.widestFirst = layout.rank == 2 && !layout.endsList &&
                      !sweep->getParentOfType<fused::LoopOp>();
  // The bodies that reduce tiles.
  llvm::SmallPtrSet<Block *, 8> reducing;
  for (const ScratchSlot &slot : layout.scratch)
    if (slot.per == heddle::ScratchPer::tile)
      reducing.insert(slot.owner->getBlock());
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    table.segments.push_back(segmentOf(segment, layout.rank));
    // Tiles of reductions must not depend on alignment.
    table.segments.back().alignTiles =
        table.rank == 1 && table.segments.back().count &&
        !reducing.contains(&sweep.getSegmentBlock(s));
  }
  plan.tables.push_back(std::move(table));
  return plan.tables.size() - 1;
}

static LogicalResult addVariants(PlanNode &node, fused::SweepOp sweep,
                                 const SweepLayout &layout) {
  if (!sweep.getLaunchAttr())
    return sweep.emitOpError("has no launch; run fused-configure-launches");
  for (fused::VariantAttr from : sweep.getLaunchAttr().getVariants()) {
    PlanVariant &variant = node.variants.emplace_back();
    variant.entry = layout.name + cuda::entrySuffix(sweep, from);
    variant.block = layout.threads;
    variant.scalarsByValue = from.getScalars() == fused::ScalarPassing::value &&
                             node.hasByValueScalars();
    if (from.isEvictFirst())
      variant.fitsL2 = from.getEvictFirstL2Percent() / 100.0;
    if (from.isForHeldRows())
      variant.maxColumns = from.getMaxColumns();
    if (from.getMostlyOver())
      variant.mostlyOver = from.getMostlyOver();
    if (from.isForVectors()) {
      variant.mostlyMultiplesOf = from.getMostlyMultiplesOf();
      variant.maxColumns = mostVectorColumns(layout);
    }
    if (from.isForParts())
      variant.maxParts = from.getMaxParts();
    variant.cluster = from.isForClusters();
    if (from.takesDistances()) {
      variant.minElements = from.getMinElements();
      variant.distances.assign(layout.distanceSlots.begin(),
                               layout.distanceSlots.end());
    }
  }
  return success();
}

/// Divides the node of a sweep, if a launch of its own ends the members:
/// `tiles` keeps the tiles. Returns the node of the ends.
static std::optional<PlanNode> splitEnds(PlanNode &tiles, fused::SweepOp sweep,
                                         const SweepLayout &layout) {
  auto entries = cuda::endsEntries(sweep);
  if (entries.empty())
    return std::nullopt;
  PlanNode ends = tiles;
  tiles.part = SweepPart::Tiles;
  tiles.always = false;
  ends.part = SweepPart::Ends;
  ends.name = layout.name + "_ends";
  ends.variants.clear();
  for (const cuda::EndsEntry &entry : entries) {
    PlanVariant &variant = ends.variants.emplace_back();
    variant.entry = entry.name;
    variant.block = cuda::threadsOfEnds(sweep, layout);
    variant.grid = cuda::endsListAlone(sweep, layout) ? GridKind::Fixed
                                                      : GridKind::Members;
    variant.scalarsByValue = entry.byValue && ends.hasByValueScalars();
  }
  // Tiles write elements; values of members and of the list are written last.
  llvm::DenseSet<int> elements;
  for (const SegmentLayout &segment : layout.segments)
    for (const OperandSlot &slot : segment.operands)
      if (slot.written && !isMemberIndex(slot.index))
        elements.insert(slot.buffer);
  auto isElement = [&](int buffer) { return elements.contains(buffer); };
  llvm::erase_if(tiles.writes, std::not_fn(isElement));
  llvm::erase_if(ends.writes, isElement);
  return ends;
}

/// The argument of a node that is a buffer of the program.
static PlanArgument bufferArgument(const KernelArgument &argument) {
  return {argument.byValue ? ArgumentKind::Scalar : ArgumentKind::Buffer,
          argument.buffer};
}

PlanArgument Extraction::addScratch(runtime::ScratchPer per, int table,
                                    int64_t bytes, bool zero) {
  PlanScratch scratch;
  scratch.per = per;
  scratch.table = per == runtime::ScratchPer::Once ? -1 : table;
  scratch.bytes = bytes;
  scratch.zero = zero;
  plan.scratch.push_back(scratch);
  return {ArgumentKind::Scratch, static_cast<int>(plan.scratch.size()) - 1};
}

static runtime::ScratchPer scratchPer(heddle::ScratchPer per,
                                      const SweepLayout &layout) {
  switch (per) {
  case heddle::ScratchPer::tile:
    return runtime::ScratchPer::Tile;
  case heddle::ScratchPer::member:
    return runtime::ScratchPer::Member;
  case heddle::ScratchPer::tileColumn:
    return runtime::ScratchPer::TileColumn;
  case heddle::ScratchPer::once:
    return runtime::ScratchPer::Once;
  case heddle::ScratchPer::ticket:
    return layout.columnRange ? runtime::ScratchPer::TileBlock
                              : runtime::ScratchPer::Tile;
  case heddle::ScratchPer::rowPart:
    return runtime::ScratchPer::TileBlock;
  }
  llvm_unreachable("all areas have been handled");
}

LogicalResult Extraction::addSweep(const ProgramNode &input, PlanGraph &graph) {
  auto sweep = cast<fused::SweepOp>(input.op);
  auto layout = SweepLayout::compute(sweep, buffers);
  if (failed(layout))
    return failure();
  PlanNode node;
  node.kind = NodeKind::Kernel;
  node.name = layout->name;
  node.sweeps.push_back(layout->name);
  node.table = addTable(sweep, *layout);
  for (const KernelArgument &argument :
       KernelSignature::of(*layout).arguments) {
    if (argument.kind == KernelArgumentKind::table) {
      node.arguments.push_back({ArgumentKind::Table, node.table});
    } else if (argument.kind == KernelArgumentKind::scalar) {
      node.arguments.push_back(bufferArgument(argument));
    } else {
      const ScratchSlot &slot = layout->scratch[argument.slot];
      node.arguments.push_back(addScratch(scratchPer(slot.per, *layout),
                                          node.table, slot.bytes, slot.zero));
    }
  }
  if (failed(addVariants(node, sweep, *layout)))
    return failure();
  node.writes = input.access.sortedWrites();
  node.always = layout->endsList;
  std::optional<PlanNode> ends = splitEnds(node, sweep, *layout);
  graph.nodes.push_back(std::move(node));
  if (ends)
    graph.nodes.push_back(std::move(*ends));
  return success();
}

//===----------------------------------------------------------------------===//
// Loops, copies and fills
//===----------------------------------------------------------------------===//

void Extraction::addCopy(const ProgramNode &input, PlanGraph &graph) {
  PlanNode node;
  node.kind = NodeKind::Copy;
  node.name = "copy_" + plan.buffers[input.from].name;
  node.from = input.from;
  node.to = input.to;
  node.writes = {input.to};
  graph.nodes.push_back(std::move(node));
}

/// The flags of members before the first iteration: every member is active.
void Extraction::addFill(const ProgramNode &input, PlanGraph &graph) {
  PlanNode node;
  node.kind = NodeKind::Fill;
  node.to = input.to;
  node.name = "fill_" + plan.buffers[node.to].name;
  node.value = 1;
  node.writes = {node.to};
  graph.nodes.push_back(std::move(node));
}

/// A small loop runs in one cooperative launch, a large loop as a conditional
/// node, whose sweeps have one block per tile. Without conditional nodes (if
/// the user captures the stream), every loop has the cooperative form.
LogicalResult Extraction::addLoopVariants(fused::LoopOp loop, PlanNode &node) {
  PlanVariant graph;
  graph.graphForm = true;
  auto cooperative = loop.getCooperativeAttr();
  if (!cooperative) {
    node.variants.push_back(graph);
    return success();
  }
  PlanVariant launch;
  launch.entry = cuda::oneLaunchEntry(loop);
  launch.block = cooperative.getThreads();
  launch.grid = GridKind::Resident;
  launch.cooperative = true;
  launch.maxTiles = cooperative.getTiles();
  graph.minTiles = cooperative.getTiles() + 1;
  node.variants.push_back(launch);
  node.variants.push_back(graph);
  launch.maxTiles.reset();
  node.variants.push_back(launch);
  std::vector<SweepLayout> layouts;
  std::vector<KernelSignature> signatures;
  for (auto sweep : loop.getBody().front().getOps<fused::SweepOp>()) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      return failure();
    signatures.push_back(KernelSignature::of(*layout));
    layouts.push_back(std::move(*layout));
  }
  for (const KernelArgument &argument :
       KernelSignature::ofCooperative(loop, layouts, buffers).arguments) {
    switch (argument.kind) {
    case KernelArgumentKind::table:
    case KernelArgumentKind::scratch: {
      // The table and scratch areas of the sweep's own launch.
      int position =
          signatures[argument.sweep].positionOf(argument.kind, argument.slot);
      node.arguments.push_back(
          node.body.nodes[argument.sweep].arguments[position]);
      break;
    }
    case KernelArgumentKind::barrier:
      node.arguments.push_back(addScratch(runtime::ScratchPer::Once, -1,
                                          argument.bytes, /*zero=*/true));
      break;
    default:
      node.arguments.push_back(bufferArgument(argument));
    }
  }
  return success();
}

static runtime::ScratchPer scratchPer(PanelScratchPer per) {
  switch (per) {
  case PanelScratchPer::row:
    return runtime::ScratchPer::Row;
  case PanelScratchPer::panel:
    return runtime::ScratchPer::Panel;
  case PanelScratchPer::panelColumn:
    return runtime::ScratchPer::PanelColumn;
  case PanelScratchPer::column:
    return runtime::ScratchPer::Column;
  }
  llvm_unreachable("unknown scratch area of a panel loop");
}

/// Adds the panel form to the node of a loop that has this form.
LogicalResult Extraction::addPanel(fused::LoopOp loop, PlanNode &node) {
  if (!loop.getPanels())
    return success();
  auto layout = PanelLayout::compute(loop, buffers);
  if (!layout)
    return loop.emitOpError("does not have the panel form; run "
                            "fused-configure-launches");
  const PlanNode &sweep = node.body.nodes.front();
  auto slots = SweepLayout::compute(
      cast<fused::SweepOp>(loop.getBody().front().front()), buffers);
  PlanPanel panel;
  panel.entry = layout->name;
  panel.table = sweep.table;
  panel.words = layout->words;
  panel.rowWords = layout->rowWords;
  panel.columns = layout->analysis.columns.size();
  panel.rows = layout->analysis.rows.size();
  panel.clusterPerMember = layout->clusterPerMember;
  panel.keptOfRow = layout->keptOfRow;
  panel.keptOfColumn = layout->keptOfColumn;
  for (int slot : layout->matrices)
    panel.elementBytes.push_back(
        storageBytes(slots->segments[0].operands[slot].storage));
  for (const KernelArgument &argument :
       KernelSignature::ofPanels(*slots, *layout).arguments) {
    switch (argument.kind) {
    case KernelArgumentKind::table:
      panel.arguments.push_back({ArgumentKind::Table, sweep.table});
      break;
    case KernelArgumentKind::panelScratch: {
      const PanelScratch &area = layout->scratch[argument.slot];
      panel.computeBytes = std::max<int>(panel.computeBytes, area.bytes);
      panel.arguments.push_back(addScratch(scratchPer(area.per), sweep.table,
                                           area.bytes, /*zero=*/false));
      break;
    }
    case KernelArgumentKind::barrier:
      panel.arguments.push_back(addScratch(runtime::ScratchPer::Once, -1,
                                           argument.bytes, /*zero=*/true));
      break;
    default:
      panel.arguments.push_back(bufferArgument(argument));
    }
  }
  node.panel = std::move(panel);
  return success();
}

LogicalResult Extraction::addLoop(const ProgramNode &input, PlanGraph &graph) {
  auto loop = cast<fused::LoopOp>(input.op);
  PlanNode node;
  node.kind = NodeKind::While;
  node.name = loop.getName().value_or("loop");
  if (failed(addNodes(*input.body, node.body)))
    return failure();
  node.condition = input.body->condition;
  node.iterations = buffers.of(loop.getIterations());
  node.limit = buffers.of(loop.getLimit());
  if (failed(addLoopVariants(loop, node)) || failed(addPanel(loop, node)))
    return failure();
  node.writes = input.access.sortedWrites();
  graph.nodes.push_back(std::move(node));
  return success();
}

LogicalResult Extraction::addEdges(const ProgramNodes &nodes,
                                   ArrayRef<NodeRange> positions,
                                   PlanGraph &graph) {
  for (auto [first, last] : positions)
    if (first != last)
      graph.edges.push_back({first, last, /*programmatic=*/true});
  for (auto [from, to] : nodes.dependences) {
    auto sweep = dyn_cast_or_null<fused::SweepOp>(nodes.nodes[to].op);
    bool isDependent =
        sweep && sweep.getLaunchAttr() && sweep.getLaunchAttr().isDependent();
    if (isDependent && !nodes.followsOneSweep(to))
      return sweep.emitOpError("expected to depend on the previous sweep "
                               "only, because its launch has 'wait'");
    graph.edges.push_back(
        {positions[from].second, positions[to].first, isDependent});
  }
  llvm::sort(graph.edges, [](const PlanEdge &a, const PlanEdge &b) {
    return std::pair(a.to, -a.from) < std::pair(b.to, -b.from);
  });
  return success();
}

LogicalResult Extraction::addNodes(const ProgramNodes &nodes,
                                   PlanGraph &graph) {
  SmallVector<NodeRange> positions;
  for (const ProgramNode &input : nodes.nodes) {
    int first = graph.nodes.size();
    switch (input.kind) {
    case ProgramNodeKind::sweep:
      if (failed(addSweep(input, graph)))
        return failure();
      break;
    case ProgramNodeKind::loop:
      if (failed(addLoop(input, graph)))
        return failure();
      break;
    case ProgramNodeKind::copy:
      addCopy(input, graph);
      break;
    case ProgramNodeKind::fill:
      addFill(input, graph);
      break;
    }
    positions.push_back({first, static_cast<int>(graph.nodes.size()) - 1});
  }
  return addEdges(nodes, positions, graph);
}

FailureOr<Plan> Extraction::run() {
  plan.name = program.getSymName();
  if (failed(addBuffers()))
    return failure();
  Block &block = program.getBody().front();
  auto yield = cast<fused::YieldOp>(block.getTerminator());
  for (auto [k, value] : llvm::enumerate(yield.getValues()))
    if (buffers.of(value) < 0)
      return program.emitOpError("expected a buffer for result #")
             << k << ", found none";
  if (!program.getResultBuffers())
    return program.emitOpError("has no 'result_buffers'; run "
                               "fused-assign-buffers");
  auto nodes = ProgramNodes::of(block, buffers);
  if (failed(nodes) || failed(addNodes(*nodes, plan.graph)))
    return failure();
  UniqueNames names(/*first=*/2);
  // Two results with the same value have the same name.
  for (int buffer : buffersOfResults(program))
    plan.results.push_back({names.unique(buffers[buffer].name), buffer});
  return std::move(plan);
}

FailureOr<Plan> extractPlan(fused::ProgramOp program, const Buffers &buffers) {
  return Extraction(program, buffers).run();
}

} // namespace heddle

//===- GraphSteps.cpp - A plan's nodes with everything filled in ----------===//

#include "runtime/cuda/GraphSteps.h"

#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/plan/Scalar.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// A row of heddle_copy and heddle_fill (device/copy.cu).
struct SpanDescriptor {
  const char *from;
  char *to;
  int64_t bytes;
  int64_t firstChunk;
};
constexpr int64_t chunkBytes = 16384;
int64_t chunksOf(const Span &span) {
  return (span.bytes + chunkBytes - 1) / chunkBytes;
}
/// Chunks beyond this are walked by the same blocks.
constexpr int64_t maxCopyBlocks = 16384;

} // namespace

std::vector<void *> Launch::pointers() {
  std::vector<void *> result;
  for (auto &argument : arguments)
    result.push_back(argument.data());
  return result;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

Error StepBuilder::choose() {
  tileDescriptors.assign(plan.tables.size(), false);
  return chooseIn(plan.graph, /*inLoop=*/false);
}

Error StepBuilder::chooseIn(const PlanGraph &graph, bool inLoop) {
  for (const PlanNode &node : graph.nodes) {
    size_t index = choices.size();
    choices.emplace_back();
    Choice choice;
    if (node.kind == NodeKind::Copy || node.kind == NodeKind::Fill) {
      addSpans(node, choice);
    } else if (node.kind == NodeKind::While && !inLoop && node.panel) {
      auto panel = choosePanel(node);
      if (!panel)
        return panel.takeError();
      choice.panel = std::move(*panel);
    }
    if (node.kind == NodeKind::While && node.panel && !choice.panel)
      if (Error error = kernels.want(node))
        return error;
    if (!choice.panel &&
        (node.kind == NodeKind::Kernel || node.kind == NodeKind::While))
      if (Error error = chooseVariants(node, choice, inLoop))
        return error;
    choices[index] = choice;
    if (node.kind == NodeKind::While)
      if (Error error = chooseIn(node.body, /*inLoop=*/true))
        return error;
  }
  return Error::success();
}

/// The sum and the maximum of the tile counts of a node's tables.
std::pair<int64_t, int64_t>
StepBuilder::tilesOfNode(const PlanNode &node) const {
  int64_t sum = 0, most = 0;
  SmallVector<int> seen;
  auto add = [&](int table) {
    if (table < 0 || is_contained(seen, table))
      return;
    seen.push_back(table);
    sum += layout.tables()[table].tileCount;
    most = std::max<int64_t>(most, layout.tables()[table].tileCount);
  };
  add(node.table);
  for (const PlanArgument &argument : node.arguments)
    if (argument.kind == ArgumentKind::Table)
      add(argument.index);
  return {sum, most};
}

/// Whether a kernel node has nothing to do with what is bound.
bool StepBuilder::idle(const PlanNode &node) const {
  bool hasTable = node.table >= 0 ||
                  any_of(node.arguments, [](const PlanArgument &argument) {
                    return argument.kind == ArgumentKind::Table;
                  });
  return hasTable && !node.always && tilesOfNode(node).first == 0;
}

Expected<unsigned> StepBuilder::gridOf(const PlanNode &node,
                                       const PlanVariant &variant) {
  int64_t grid = 1;
  if (variant.grid == GridKind::Tiles) {
    const TableView &table = layout.tables()[node.table];
    grid = int64_t(table.tileCount) * table.blocksPerTile;
  }
  if (variant.grid == GridKind::Members)
    grid = layout.tables()[node.table].memberCount;
  if (variant.grid == GridKind::Fixed)
    grid = variant.gridBlocks;
  if (variant.grid != GridKind::Resident && !variant.cooperative)
    return std::max<int64_t>(grid, 1);

  Expected<CUfunction> function = kernels.function(context, variant.entry);
  if (!function)
    return function.takeError();
  const Driver &driver = context->driver();
  int perMultiprocessor = 0;
  if (variant.sharedBytes > 0)
    HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, *function,
                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       variant.sharedBytes);
  HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                     &perMultiprocessor, *function, variant.block,
                     variant.sharedBytes);
  int64_t resident = int64_t(perMultiprocessor) * context->multiprocessors();
  if (variant.grid == GridKind::Resident)
    return std::min(resident, std::max<int64_t>(tilesOfNode(node).second, 1));
  return grid <= resident ? std::max<int64_t>(grid, 1) : 0;
}

bool StepBuilder::holds(const PlanNode &node, const PlanVariant &variant,
                        bool forCapture) const {
  int64_t tiles = tilesOfNode(node).first;
  if ((variant.maxTiles && tiles > *variant.maxTiles) ||
      (variant.minTiles && tiles < *variant.minTiles))
    return false;
  if (variant.fitsL2 &&
      static_cast<double>(layout.tables()[node.table].elementBytes) >
          *variant.fitsL2 * static_cast<double>(context->l2Bytes()))
    return false;
  if (!variant.scalarsByValue)
    return true;
  // The values of a launch that the user captured could not change any more.
  return all_of(node.arguments, [&](const PlanArgument &argument) {
    return argument.kind != ArgumentKind::Scalar ||
           (!forCapture && layout.buffers()[argument.index].owned);
  });
}

Error StepBuilder::chooseVariants(const PlanNode &node, Choice &choice,
                                  bool inLoop) {
  const Driver &driver = context->driver();
  bool canLoop = driver.graphAddNode && driver.cuGraphConditionalHandleCreate;
  bool refusedLoop = false;
  auto readTileDescriptors = [&](const PlanVariant &variant) {
    for (const PlanArgument &argument : node.arguments)
      if (argument.kind == ArgumentKind::Table && variant.tileDescriptors &&
          plan.tables[argument.index].tileDescriptors)
        tileDescriptors[argument.index] = true;
  };
  for (const PlanVariant &variant : node.variants) {
    if (!holds(node, variant, /*forCapture=*/false))
      continue;
    if (variant.graphForm) {
      refusedLoop |= !canLoop;
      if (!canLoop)
        continue;
      choice.replayed = &variant;
      break;
    }
    Expected<unsigned> grid = gridOf(node, variant);
    if (!grid)
      return grid.takeError();
    if (*grid == 0)
      continue;
    choice.replayed = &variant;
    choice.grid = *grid;
    readTileDescriptors(variant);
    break;
  }
  if (!choice.replayed)
    return makeError(
        refusedLoop ? StatusCode::Unavailable : StatusCode::Failed,
        "node '{0}': no variant can run on {1} with {2} tiles{3}", node.name,
        context->name(), tilesOfNode(node).first,
        refusedLoop
            ? " (conditional graph nodes need a driver for CUDA 12.3 or later)"
            : "");
  if (choice.replayed->graphForm)
    addSpans(node, choice);
  if (inLoop)
    return Error::success();
  for (const PlanVariant &variant : node.variants) {
    if (variant.graphForm || !holds(node, variant, /*forCapture=*/true))
      continue;
    if (&variant == choice.replayed) {
      choice.captured = &variant;
      choice.capturedGrid = choice.grid;
      break;
    }
    Expected<unsigned> grid = gridOf(node, variant);
    if (!grid)
      return grid.takeError();
    if (*grid == 0)
      continue;
    choice.captured = &variant;
    choice.capturedGrid = *grid;
    readTileDescriptors(variant);
    break;
  }
  return Error::success();
}

/// Reserves the rows of a copy, a fill or a loop's flags. Their sizes are known
/// before the addresses in them are.
void StepBuilder::addSpans(const PlanNode &node, Choice &choice) {
  choice.spansOffset = alignUp(rows.size());
  for (const Span &span : spansOf(node)) {
    choice.chunks += chunksOf(span);
    ++choice.spanCount;
  }
  rows.resize(choice.spansOffset +
              choice.spanCount * (node.kind == NodeKind::While
                                      ? sizeof(char *)
                                      : sizeof(SpanDescriptor)));
}

std::vector<Span> StepBuilder::spansOf(const PlanNode &node) const {
  return layout.spans(node.kind == NodeKind::Copy ? node.from : -1,
                      node.kind == NodeKind::While ? node.condition : node.to);
}

void StepBuilder::writeSpans(const PlanNode &node, const Choice &choice) {
  char *out = rows.data() + choice.spansOffset;
  auto append = [&](const auto &row) {
    std::memcpy(out, &row, sizeof(row));
    out += sizeof(row);
  };
  int64_t chunk = 0;
  for (const Span &span : spansOf(node)) {
    if (node.kind == NodeKind::While)
      append(span.to);
    else
      append(SpanDescriptor{span.from, span.to, span.bytes, chunk});
    chunk += chunksOf(span);
  }
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Expected<std::vector<Step>> StepBuilder::build(const Addresses &addresses) {
  nextChoice = 0;
  slotReads.assign(plan.buffers.size(), false);
  // Scalars that the rows of a table point to.
  for (const PlanTable &table : plan.tables)
    for (const PlanSegment &segment : table.segments)
      for (const PlanOperand &operand : segment.operands)
        slotReads[operand.buffer] = true;
  Expected<std::vector<Step>> steps = buildIn(plan.graph, addresses);
  for (size_t buffer = 0; buffer < slotReads.size(); ++buffer)
    if (plan.buffers[buffer].kind != BufferKind::Scalar ||
        !layout.buffers()[buffer].owned)
      slotReads[buffer] = false;
  return steps;
}

Expected<std::vector<Step>> StepBuilder::buildIn(const PlanGraph &graph,
                                                 const Addresses &addresses) {
  std::vector<Step> steps;
  for (const PlanNode &node : graph.nodes) {
    const Choice choice = choices[nextChoice++];
    Step &step = steps.emplace_back();
    if (!choice.panel && node.kind == NodeKind::While &&
        choice.replayed->graphForm) {
      if (Error error = loop(node, choice, addresses, step))
        return std::move(error);
      continue;
    }
    Expected<Launch> launch =
        node.kind == NodeKind::Copy || node.kind == NodeKind::Fill
            ? copyOrFill(node, choice, addresses)
        : choice.panel ? panel(node, *choice.panel, addresses)
                       : kernel(node, *choice.replayed, choice.grid, addresses,
                                /*replayed=*/true);
    if (!launch)
      return launch.takeError();
    step.launch = std::move(*launch);
    if (choice.captured && choice.captured != choice.replayed) {
      Expected<Launch> captured =
          kernel(node, *choice.captured, choice.capturedGrid, addresses,
                 /*replayed=*/false);
      if (!captured)
        return captured.takeError();
      step.captured = std::move(*captured);
    }
    // The choices of a body that the cooperative kernel runs itself are passed
    // over.
    if (node.kind == NodeKind::While) {
      auto skip = [&](auto &self, const PlanGraph &body) -> void {
        for (const PlanNode &inner : body.nodes) {
          ++nextChoice;
          self(self, inner.body);
        }
      };
      skip(skip, node.body);
    }
  }
  addOverlaps(graph, steps);
  return steps;
}

/// A kernel that has nothing to do ends without waiting for the one before, so
/// that one alone is no substitute for an ordinary edge.
void StepBuilder::addOverlaps(const PlanGraph &graph,
                              std::vector<Step> &steps) const {
  if (!context->canOverlap())
    return;
  auto waits = [&](int index) {
    const PlanNode &node = graph.nodes[index];
    return node.kind == NodeKind::Kernel &&
           (node.table < 0 || tilesOfNode(node).first > 0) && !idle(node) &&
           !steps[index].launch.cooperative;
  };
  for (const PlanEdge &edge : graph.edges)
    if (edge.programmatic && waits(edge.from) && waits(edge.to))
      steps[edge.to].overlaps = edge.from;
}

Expected<Launch> StepBuilder::kernel(const PlanNode &node,
                                     const PlanVariant &variant, unsigned grid,
                                     const Addresses &addresses,
                                     bool replayed) {
  Launch launch;
  launch.name = node.name;
  launch.cooperative = variant.cooperative;
  if (idle(node)) {
    Expected<CUfunction> nothing = builtinFunction(context, "heddle_nothing");
    if (!nothing)
      return nothing.takeError();
    launch.function = *nothing;
    launch.block = 32;
    return launch;
  }
  Expected<CUfunction> function = kernels.function(context, variant.entry);
  if (!function)
    return function.takeError();
  launch.function = *function;
  launch.grid = grid;
  launch.block = variant.block;
  launch.sharedBytes = variant.sharedBytes;
  // Beyond 48 KiB a kernel must be told first.
  if (variant.sharedBytes > 0)
    HEDDLE_DRIVER_CALL(context->driver(), cuFuncSetAttribute, *function,
                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       variant.sharedBytes);
  addArguments(node.arguments, variant.scalarsByValue, addresses, replayed,
               launch);
  return launch;
}

void StepBuilder::addArguments(ArrayRef<PlanArgument> arguments, bool byValue,
                               const Addresses &addresses, bool replayed,
                               Launch &launch) {
  for (const PlanArgument &argument : arguments) {
    if (argument.kind == ArgumentKind::Table)
      launch.add(addresses.tables[argument.index]);
    else if (argument.kind == ArgumentKind::Scratch)
      launch.add(addresses.scratch[argument.index]);
    else if (argument.kind == ArgumentKind::Scalar && byValue)
      launch.addScalar(argument.index,
                       addresses.slotValues + argument.index * sizeof(double));
    else {
      launch.add(layout.scalarAddress(argument.index));
      if (replayed)
        slotReads[argument.index] = true;
    }
  }
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

Expected<std::optional<StepBuilder::PanelChoice>>
StepBuilder::choosePanel(const PlanNode &node) {
  std::optional<PanelChoice> none;
  if (!node.panel || !context->canCopyInBulk())
    return none;
  const TableView &view = layout.tables()[node.panel->table];
  if (view.memberCount == 0 || view.widest == 0)
    return none;
  std::optional<PanelClass> panels =
      panelClassFor(*node.panel, view.narrowest, view.widest, view.longest,
                    context->sharedBytes());
  if (!panels)
    return none;
  Expected<CUfunction> function =
      kernels.panelFunction(context, node.panel->entry, *panels);
  if (!function) {
    // A class that the architecture has no room for is left to the other forms.
    auto [code, text] = takeError(function.takeError());
    if (code == StatusCode::Failed)
      return none;
    return makeError(code, "{0}", text);
  }
  PanelChoice choice;
  choice.function = *function;
  choice.variant.entry = node.panel->entry;
  choice.variant.block = panels->threads;
  choice.variant.sharedBytes = panels->sharedBytes;
  choice.variant.cooperative = panels->clusterPerMember == 0;
  const Driver &driver = context->driver();
  int fixedBytes = 0;
  HEDDLE_DRIVER_CALL(driver, cuFuncGetAttribute, &fixedBytes,
                     CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *function);
  if (fixedBytes + panels->sharedBytes > context->sharedBytes())
    return none;
  HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, *function,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     panels->sharedBytes);
  // Units that share a panel, or a member, and how many of them the device has
  // room for: clusters do not reach over the groups of multiprocessors, of
  // which a few are left over where a group is no multiple of the cluster.
  const int cluster = std::max(panels->cluster, panels->clusterPerMember);
  int room = 0;
  if (cluster == 1) {
    HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                       &room, *function, panels->threads, panels->sharedBytes);
    room *= context->multiprocessors();
  } else {
    if (cluster > 8)
      HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, *function,
                         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                         1);
    CUlaunchConfig config = {};
    config.gridDimX = cluster;
    config.blockDimX = panels->threads;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = panels->sharedBytes;
    HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveClusters, &room, *function,
                       &config);
  }
  // Clusters with a member each need not run at the same time.
  const int64_t units =
      panels->clusterPerMember && room > 0
          ? std::min<int64_t>(view.memberCount, max_member_clusters)
          : std::min<int64_t>(
                {panels->panels(), room, std::max<int64_t>(view.longest, 1)});
  if (units == 0)
    return none;
  choice.grid = units * cluster;
  return std::optional(std::move(choice));
}

Expected<Launch> StepBuilder::panel(const PlanNode &node,
                                    const PanelChoice &choice,
                                    const Addresses &addresses) {
  Launch launch;
  launch.name = node.name;
  launch.cooperative = choice.variant.cooperative;
  launch.function = choice.function;
  launch.grid = choice.grid;
  launch.block = choice.variant.block;
  launch.sharedBytes = choice.variant.sharedBytes;
  addArguments(node.panel->arguments, /*byValue=*/false, addresses,
               /*replayed=*/true, launch);
  return launch;
}

Error StepBuilder::loop(const PlanNode &node, const Choice &choice,
                        const Addresses &addresses, Step &step) {
  Expected<CUfunction> begin = builtinFunction(context, "heddle_loop_begin");
  if (!begin)
    return begin.takeError();
  Expected<CUfunction> next = builtinFunction(context, "heddle_loop_next");
  if (!next)
    return next.takeError();
  writeSpans(node, choice);
  step.loop = true;
  step.launch.name = node.name + ": begin";
  step.launch.function = *begin;
  step.next.name = node.name + ": next";
  step.next.function = *next;
  step.next.block = 256;
  slotReads[node.limit] = true;
  // The first argument is the condition's handle, known when the graph is made.
  for (Launch *launch : {&step.launch, &step.next}) {
    launch->add(uint64_t(0));
    launch->add(layout.scalarAddress(node.iterations));
    launch->add(layout.scalarAddress(node.limit));
  }
  step.next.add(addresses.spanDescriptors + choice.spansOffset);
  step.next.add(choice.spanCount);
  Expected<std::vector<Step>> body = buildIn(node.body, addresses);
  if (!body)
    return body.takeError();
  step.body = std::move(*body);
  step.edges = node.body.edges;
  if (choice.captured) {
    Expected<Launch> captured =
        kernel(node, *choice.captured, choice.capturedGrid, addresses,
               /*replayed=*/false);
    if (!captured)
      return captured.takeError();
    step.captured = std::move(*captured);
  }
  return Error::success();
}

Expected<Launch> StepBuilder::copyOrFill(const PlanNode &node,
                                         const Choice &choice,
                                         const Addresses &addresses) {
  Launch launch;
  launch.name = node.name;
  bool copy = node.kind == NodeKind::Copy;
  Expected<CUfunction> function =
      builtinFunction(context, choice.chunks == 0 ? "heddle_nothing"
                               : copy             ? "heddle_copy"
                                                  : "heddle_fill");
  if (!function)
    return function.takeError();
  launch.function = *function;
  if (choice.chunks == 0) {
    launch.block = 32;
    return launch;
  }
  writeSpans(node, choice);
  if (copy)
    slotReads[node.from] = true;
  launch.grid = static_cast<unsigned>(std::min(choice.chunks, maxCopyBlocks));
  launch.block = 256;
  launch.add(addresses.spanDescriptors + choice.spansOffset);
  launch.add(choice.spanCount);
  launch.add(choice.chunks);
  if (!copy)
    launch.add(fillPattern(plan.buffers[node.to].dtype, node.value));
  return launch;
}

} // namespace heddle::runtime

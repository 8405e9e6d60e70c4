//===- GraphSteps.cpp - A plan's nodes with everything filled in ----------===//

#include "runtime/GraphSteps.h"

#include "runtime/DeviceText.h"
#include "runtime/Nvrtc.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// A row of heddle_copy and heddle_fill (device/copy.cu).
struct SpanRow {
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

/// A module of the runtime's own in a context, loaded on first use and kept for
/// the process: contexts live as long as their modules.
Expected<CUfunction> ownFunction(const ContextPtr &context, StringRef file,
                                 StringRef name) {
  static std::mutex mutex;
  // Never destroyed: at the end of the process the driver may be gone before
  // this.
  static auto &loaded = *new std::vector<
      std::tuple<ContextPtr, std::string, std::shared_ptr<Module>>>();
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[owner, loadedFile, module] : loaded)
    if (owner == context && loadedFile == file)
      return module->function(name);
  StringRef text = deviceText(file);
  std::string image;
  if (file.ends_with(".ptx")) {
    image = text.str();
    image.push_back('\0');
  } else {
    Expected<CompiledImage> compiled =
        compileSource({"heddle_helpers", text.str(), {}, {"--std=c++17"}},
                      context->arch(), ImageKind::Cubin);
    if (!compiled)
      return compiled.takeError();
    image = std::move(compiled->image);
  }
  Expected<std::shared_ptr<Module>> module =
      Module::load(context, ArrayRef<char>(image.data(), image.size()));
  if (!module)
    return withContext("the runtime's own kernels (" + file + ")",
                       module.takeError());
  loaded.emplace_back(context, file.str(), *module);
  return (*module)->function(name);
}

} // namespace

std::vector<void *> Launch::pointers() {
  std::vector<void *> result;
  for (std::array<char, 32> &argument : arguments)
    result.push_back(argument.data());
  return result;
}

Expected<CUfunction> StepBuilder::helper(const ContextPtr &context,
                                         StringRef name) {
  return ownFunction(context, "copy.cu", name);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

Error StepBuilder::choose() {
  tileRows.assign(plan.tables.size(), false);
  return chooseIn(plan.graph);
}

Error StepBuilder::chooseIn(const PlanGraph &graph) {
  for (const PlanNode &node : graph.nodes) {
    size_t index = choices.size();
    choices.emplace_back();
    Choice choice;
    if (node.kind == NodeKind::Copy || node.kind == NodeKind::Fill) {
      addSpans(node, choice);
    } else if (Error error = chooseVariants(node, choice)) {
      return error;
    }
    choices[index] = choice;
    if (node.kind == NodeKind::While)
      if (Error error = chooseIn(node.body))
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
  if (variant.grid == GridKind::Tiles)
    grid = layout.tables()[node.table].tileCount;
  else if (variant.grid == GridKind::Members)
    grid = layout.tables()[node.table].memberCount;
  else if (variant.grid == GridKind::Fixed)
    grid = variant.gridBlocks;
  if (variant.grid != GridKind::Resident && !variant.cooperative)
    return std::max<int64_t>(grid, 1);

  Expected<CUfunction> function = module->function(variant.entry);
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

Error StepBuilder::chooseVariants(const PlanNode &node, Choice &choice) {
  int64_t tiles = tilesOfNode(node).first;
  const Driver &driver = context->driver();
  bool canLoop = driver.graphAddNode && driver.cuGraphConditionalHandleCreate;
  bool refusedLoop = false;
  for (const PlanVariant &variant : node.variants) {
    if ((variant.maxTiles && tiles > *variant.maxTiles) ||
        (variant.minTiles && tiles < *variant.minTiles))
      continue;
    if (variant.graphForm) {
      refusedLoop |= !canLoop;
      if (!choice.replayed && canLoop)
        choice.replayed = &variant;
      continue;
    }
    // Only the cooperative form of a loop is still of interest once a variant
    // is chosen: for captures.
    if (choice.replayed && !(choice.replayed->graphForm && !choice.captured))
      break;
    Expected<unsigned> grid = gridOf(node, variant);
    if (!grid)
      return grid.takeError();
    if (*grid == 0)
      continue;
    if (choice.replayed) {
      choice.captured = &variant;
      choice.capturedGrid = *grid;
    } else {
      choice.replayed = &variant;
      choice.grid = *grid;
    }
    for (const PlanArgument &argument : node.arguments)
      if (argument.kind == ArgumentKind::Table && variant.tileRows &&
          plan.tables[argument.index].tileRows)
        tileRows[argument.index] = true;
  }
  if (!choice.replayed)
    return makeError(
        refusedLoop ? StatusCode::Unavailable : StatusCode::Failed,
        "node '{0}': no variant can run on {1} with {2} tiles{3}", node.name,
        context->name(), tiles,
        refusedLoop
            ? " (conditional graph nodes need a driver for CUDA 12.3 or later)"
            : "");
  if (choice.replayed->graphForm)
    addSpans(node, choice);
  return Error::success();
}

/// Reserves the rows of a copy, a fill or a loop's flags. Their sizes are known
/// before the addresses in them are.
void StepBuilder::addSpans(const PlanNode &node, Choice &choice) {
  choice.rowsOffset = alignUp(rows.size());
  for (const Span &span : spansOf(node)) {
    choice.chunks += chunksOf(span);
    ++choice.spanCount;
  }
  rows.resize(choice.rowsOffset +
              choice.spanCount * (node.kind == NodeKind::While
                                      ? sizeof(char *)
                                      : sizeof(SpanRow)));
}

std::vector<Span> StepBuilder::spansOf(const PlanNode &node) const {
  return layout.spans(node.kind == NodeKind::Copy ? node.from : -1,
                      node.kind == NodeKind::While ? node.more : node.to);
}

void StepBuilder::writeSpans(const PlanNode &node, const Choice &choice) {
  char *out = rows.data() + choice.rowsOffset;
  auto append = [&](const auto &row) {
    std::memcpy(out, &row, sizeof(row));
    out += sizeof(row);
  };
  int64_t chunk = 0;
  for (const Span &span : spansOf(node)) {
    if (node.kind == NodeKind::While)
      append(span.to);
    else
      append(SpanRow{span.from, span.to, span.bytes, chunk});
    chunk += chunksOf(span);
  }
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Expected<std::vector<Step>> StepBuilder::build(const Addresses &addresses) {
  nextChoice = 0;
  return buildIn(plan.graph, addresses);
}

Expected<std::vector<Step>> StepBuilder::buildIn(const PlanGraph &graph,
                                                 const Addresses &addresses) {
  std::vector<Step> steps;
  for (const PlanNode &node : graph.nodes) {
    const Choice choice = choices[nextChoice++];
    Step &step = steps.emplace_back();
    if (node.kind == NodeKind::While && choice.replayed->graphForm) {
      if (Error error = loop(node, choice, addresses, step))
        return std::move(error);
      continue;
    }
    Expected<Launch> launch =
        node.kind == NodeKind::Copy || node.kind == NodeKind::Fill
            ? copyOrFill(node, choice, addresses)
            : kernel(node, *choice.replayed, choice.grid, addresses);
    if (!launch)
      return launch.takeError();
    step.launch = std::move(*launch);
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
  return steps;
}

Expected<Launch> StepBuilder::kernel(const PlanNode &node,
                                     const PlanVariant &variant, unsigned grid,
                                     const Addresses &addresses) {
  Launch launch;
  launch.name = node.name;
  launch.cooperative = variant.cooperative;
  if (idle(node)) {
    Expected<CUfunction> nothing = helper(context, "heddle_nothing");
    if (!nothing)
      return nothing.takeError();
    launch.function = *nothing;
    launch.block = 32;
    return launch;
  }
  Expected<CUfunction> function = module->function(variant.entry);
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
  for (const PlanArgument &argument : node.arguments) {
    if (argument.kind == ArgumentKind::Table)
      launch.add(addresses.tables[argument.index]);
    else if (argument.kind == ArgumentKind::Buffer)
      launch.add(layout.scalarAddress(argument.index));
    else
      launch.add(addresses.scratch[argument.index]);
  }
  return launch;
}

Error StepBuilder::loop(const PlanNode &node, const Choice &choice,
                        const Addresses &addresses, Step &step) {
  Expected<CUfunction> begin =
      ownFunction(context, "loop_control.ptx", "heddle_loop_begin");
  if (!begin)
    return begin.takeError();
  Expected<CUfunction> next =
      ownFunction(context, "loop_control.ptx", "heddle_loop_next");
  if (!next)
    return next.takeError();
  writeSpans(node, choice);
  step.loop = true;
  step.launch.name = node.name + ": begin";
  step.launch.function = *begin;
  step.next.name = node.name + ": next";
  step.next.function = *next;
  step.next.block = 256;
  // The first argument is the condition's handle, known when the graph is made.
  for (Launch *launch : {&step.launch, &step.next}) {
    launch->add(uint64_t(0));
    launch->add(layout.scalarAddress(node.trips));
    launch->add(layout.scalarAddress(node.limit));
  }
  step.next.add(addresses.spanRows + choice.rowsOffset);
  step.next.add(choice.spanCount);
  Expected<std::vector<Step>> body = buildIn(node.body, addresses);
  if (!body)
    return body.takeError();
  step.body = std::move(*body);
  step.edges = node.body.edges;
  if (choice.captured) {
    Expected<Launch> captured =
        kernel(node, *choice.captured, choice.capturedGrid, addresses);
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
      helper(context, choice.chunks == 0 ? "heddle_nothing"
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
  launch.grid = static_cast<unsigned>(std::min(choice.chunks, maxCopyBlocks));
  launch.block = 256;
  launch.add(addresses.spanRows + choice.rowsOffset);
  launch.add(choice.spanCount);
  launch.add(choice.chunks);
  if (!copy)
    launch.add(node.value);
  return launch;
}

} // namespace heddle::runtime

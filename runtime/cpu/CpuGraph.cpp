//===- CpuGraph.cpp - A plan run on the host ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/CpuGraph.h"

#include "runtime/support/Text.h"

#include "runtime/support/Parallel.h"
#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;

namespace heddle::runtime {

struct CpuGraph::HostTable {
  std::vector<char> members, tiles;
  std::vector<unsigned> tickets;
  DeviceTable table = {};
  size_t descriptorBytes = 0;
};

/// A node of the plan with its functions and arguments.
struct CpuGraph::Node {
  const PlanNode *plan = nullptr;
  struct BoundSweep {
    CpuProgram::Sweep functions;
    int table = -1;
  };
  std::vector<BoundSweep> sweeps;
  std::vector<void *> arguments;
  std::vector<Span> spans; ///< of a copy, a fill or a loop's flags
  std::vector<Node> body;
};

namespace {

class HostSpace : public AddressSpace {
public:
  // Any address of the process may be host memory.
  Error check(const void *, size_t) override { return Error::success(); }
};

} // namespace

CpuGraph::CpuGraph(std::shared_ptr<Executable> executable)
    : ProgramGraph(std::move(executable)), threads(threadLimit()) {}
CpuGraph::~CpuGraph() = default;

void CpuGraph::AlignedFree::operator()(char *memory) const {
  std::free(memory);
}

Expected<CpuGraph::AlignedMemory> CpuGraph::allocate(size_t bytes,
                                                     StringRef what) {
  AlignedMemory memory(static_cast<char *>(std::aligned_alloc(
      Layout::alignment, alignUp(std::max<size_t>(bytes, 1)))));
  if (!memory)
    return makeError(StatusCode::Failed,
                     "allocating {0} of host memory for {1} failed",
                     counted(bytes, "byte"), what);
  return memory;
}

Expected<std::unique_ptr<CpuGraph>>
CpuGraph::create(std::shared_ptr<Executable> executable) {
  if (!executable->cpu())
    return makeError(
        StatusCode::BadInput,
        "expected an executable of the cpu target, found one for {0}",
        executable->arch());
  std::unique_ptr<CpuGraph> graph(new CpuGraph(std::move(executable)));
  if (Error error = graph->buildNodes(graph->plan().graph, graph->nodes))
    return std::move(error);
  return graph;
}

Error CpuGraph::buildNodes(const PlanGraph &graph, std::vector<Node> &out) {
  for (const PlanNode &planNode : graph.nodes) {
    Node &node = out.emplace_back();
    node.plan = &planNode;
    if (planNode.kind == NodeKind::Kernel)
      for (const std::string &name : planNode.sweeps) {
        Expected<CpuProgram::Sweep> sweep = program->cpu()->lookup(name);
        if (!sweep)
          return sweep.takeError();
        node.sweeps.push_back({*sweep, plan().tableOfSweep(planNode, name)});
      }
    if (planNode.kind == NodeKind::While)
      if (Error error = buildNodes(planNode.body, node.body))
        return error;
  }
  return Error::success();
}

AddressSpace &CpuGraph::addressSpace() {
  static HostSpace space;
  return space;
}

Error CpuGraph::update(Layout &next, void *) {
  Expected<AlignedMemory> newArena =
      allocate(next.arenaBytes(), "results and temporaries");
  if (!newArena)
    return newArena.takeError();
  size_t scratchTotal = 0;
  for (size_t bytes : next.scratchBytes())
    scratchTotal += alignUp(bytes);
  Expected<AlignedMemory> newScratch = allocate(scratchTotal, "scratch");
  if (!newScratch)
    return newScratch.takeError();
  if (!slotMemory) {
    std::vector<char> initial = slotValues();
    Expected<AlignedMemory> memory = allocate(initial.size(), "scalars");
    if (!memory)
      return memory.takeError();
    std::memcpy(memory->get(), initial.data(), initial.size());
    slotMemory = std::move(*memory);
    slots = slotMemory.get();
  }
  arena = std::move(*newArena);
  scratchMemory = std::move(*newScratch);
  next.place(arena.get(), slots);

  scratch.clear();
  char *area = scratchMemory.get();
  for (auto [bytes, planned] : zip(next.scratchBytes(), plan().scratch)) {
    if (planned.zero)
      std::memset(area, 0, bytes);
    scratch.push_back(area);
    area += alignUp(bytes);
  }

  tables.assign(plan().tables.size(), {});
  for (auto [index, table] : enumerate(tables)) {
    const PlanTable &planned = plan().tables[index];
    const TableView &view = next.tables()[index];
    DescriptorLayout descriptors(planned);
    table.descriptorBytes = descriptors.bytes();
    table.members = next.memberDescriptors(index);
    table.tiles.resize(descriptors.bytes() * view.tileCount);
    table.tickets.assign(view.memberCount + 1, 0);
    expandTiles(descriptors, table.members.data(), view.memberCount,
                segmentSteps(plan(), planned), table.tiles.data(),
                view.tileCount);
    table.table = {table.tiles.data(),   table.members.data(),
                   table.tickets.data(), view.tileCount,
                   view.memberCount,     view.blocksPerTile,
                   view.partsPerTile};
  }

  auto fill = [&](auto &self, std::vector<Node> &list) -> void {
    for (Node &node : list) {
      node.arguments.clear();
      for (const PlanArgument &argument : node.plan->arguments)
        node.arguments.push_back(
            argument.kind == ArgumentKind::Table
                ? static_cast<void *>(&tables[argument.index].table)
            : argument.kind == ArgumentKind::Scratch
                ? scratch[argument.index]
                : next.scalarAddress(argument.index));
      if (node.plan->kind == NodeKind::Copy)
        node.spans = next.spans(node.plan->from, node.plan->to);
      else if (node.plan->kind == NodeKind::Fill)
        node.spans = next.spans(-1, node.plan->to);
      else if (node.plan->kind == NodeKind::While)
        node.spans = next.spans(-1, node.plan->condition);
      self(self, node.body);
    }
  };
  fill(fill, nodes);
  return Error::success();
}

Error CpuGraph::move(const Rebinding &rebinding, ArrayRef<MovedMember> moved,
                     void *) {
  for (const MovedMember &member : moved)
    for (const Rebinding::Slot &slot : rebinding.slotsOf(member)) {
      HostTable &table = tables[slot.table];
      moveOperand(DescriptorLayout(plan().tables[slot.table]),
                  table.members.data(), table.tiles.data(), slot.offset,
                  member.address);
    }
  return Error::success();
}

Error CpuGraph::scalarChanged(int buffer, const ScalarBytes &bytes, void *) {
  std::memcpy(slots + buffer * sizeof(double), bytes.data(),
              dtypeSize(plan().buffers[buffer].dtype));
  return Error::success();
}

Error CpuGraph::read(void *to, const void *from, size_t bytes, void *) {
  std::memcpy(to, from, bytes);
  return Error::success();
}

Error CpuGraph::replay(void *stream) {
  if (needsPrepare())
    if (Error error = prepare(stream))
      return error;
  count(statistics().replays);
  run(nodes);
  return Error::success();
}

void CpuGraph::run(const std::vector<Node> &list) {
  // Nodes depend on earlier nodes only, so the order of the list respects all
  // edges.
  for (const Node &node : list) {
    switch (node.plan->kind) {
    case NodeKind::Kernel:
      runKernel(node);
      break;
    case NodeKind::While:
      runWhile(node);
      break;
    case NodeKind::Copy:
      runManyInParallel(node.spans.size(), threads, [&](size_t i) {
        std::memcpy(node.spans[i].to, node.spans[i].from, node.spans[i].bytes);
      });
      break;
    case NodeKind::Fill:
      fill(node);
      break;
    }
  }
}

void CpuGraph::fill(const Node &node) {
  uint64_t pattern =
      fillPattern(plan().buffers[node.plan->to].dtype, node.plan->value);
  runManyInParallel(node.spans.size(), threads, [&](size_t i) {
    const Span &span = node.spans[i];
    for (int64_t at = 0; at < span.bytes; at += sizeof(pattern))
      std::memcpy(span.to + at, &pattern,
                  std::min<int64_t>(span.bytes - at, sizeof(pattern)));
  });
}

void CpuGraph::runKernel(const Node &node) {
  void *const *arguments = node.arguments.data();
  bool runsTiles = node.plan->part != SweepPart::Ends,
       runsEnds = node.plan->part != SweepPart::Tiles;
  for (const Node::BoundSweep &sweep : node.sweeps) {
    const DeviceTable none = {};
    const DeviceTable &table =
        sweep.table < 0 ? none : tables[sweep.table].table;
    size_t descriptorBytes =
        sweep.table < 0 ? 0 : tables[sweep.table].descriptorBytes;
    // As on the device, a node without tiles is skipped unless it computes list
    // values.
    if (sweep.table >= 0 && table.tileCount == 0 && !node.plan->always)
      continue;
    const char *tiles = static_cast<const char *>(table.tiles),
               *members = static_cast<const char *>(table.members);
    if (runsTiles && sweep.functions.tile && table.tileCount)
      runManyInParallel(table.tileCount, threads, [&](size_t i) {
        sweep.functions.tile(tiles + i * descriptorBytes, static_cast<int>(i),
                             arguments);
      });
    if (runsEnds && sweep.functions.member && table.memberCount)
      runManyInParallel(table.memberCount, threads, [&](size_t i) {
        sweep.functions.member(members + i * descriptorBytes, arguments);
      });
    if (runsEnds && sweep.functions.epilogue)
      sweep.functions.epilogue(members, table.memberCount, arguments);
  }
}

void CpuGraph::runWhile(const Node &node) {
  int32_t *iterations =
      reinterpret_cast<int32_t *>(layout->scalarAddress(node.plan->iterations));
  const int32_t *limit = reinterpret_cast<const int32_t *>(
      layout->scalarAddress(node.plan->limit));
  *iterations = 0;
  bool active = *limit > 0;
  while (active) {
    run(node.body);
    ++*iterations;
    active = *iterations < *limit &&
             any_of(node.spans, [](const Span &flag) { return *flag.to != 0; });
  }
}

} // namespace heddle::runtime

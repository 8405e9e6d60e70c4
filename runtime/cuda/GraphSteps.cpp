//===- GraphSteps.cpp - The nodes of a plan as launches -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GraphSteps.h"

#include "runtime/builtin/BuiltinKernels.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

Expected<std::vector<Step>> StepBuilder::build(const Addresses &addresses) {
  nextChoice = 0;
  slotReads.assign(plan.buffers.size(), false);
  // Descriptors hold the addresses of scalars.
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
    if (choice.panels.empty() && node.kind == NodeKind::While &&
        choice.replayed->graphForm) {
      if (Error error = loop(node, choice, addresses, step))
        return std::move(error);
      continue;
    }
    Expected<Launch> launch =
        node.kind == NodeKind::Copy || node.kind == NodeKind::Fill
            ? copyOrFill(node, choice, addresses)
        : !choice.panels.empty()
            ? panel(node, choice.panels.front(), addresses)
            : kernel(node, *choice.replayed, choice.grid, addresses,
                     /*replayed=*/true);
    if (!launch)
      return launch.takeError();
    step.launch = std::move(*launch);
    for (const PanelChoice &other :
         ArrayRef(choice.panels).drop_front(!choice.panels.empty()))
      step.further.push_back(panel(node, other, addresses));
    if (choice.captured && choice.captured != choice.replayed) {
      Expected<Launch> captured =
          kernel(node, *choice.captured, choice.capturedGrid, addresses,
                 /*replayed=*/false);
      if (!captured)
        return captured.takeError();
      step.captured = std::move(*captured);
    }
    // Skip the choices of the body, which the cooperative or panel kernel runs.
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

/// Marks the steps at the ends of programmatic edges. A kernel without work
/// ends without waiting for the previous kernel, so it needs ordinary edges.
void StepBuilder::addOverlaps(const PlanGraph &graph,
                              std::vector<Step> &steps) const {
  if (!context->canOverlap())
    return;
  auto waits = [&](int index) {
    const PlanNode &node = graph.nodes[index];
    return node.kind == NodeKind::Kernel &&
           (node.table < 0 || tilesOfNode(node).first > 0) &&
           !hasNoWork(node) && !steps[index].launch.cooperative;
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
  if (hasNoWork(node)) {
    Expected<CUfunction> nothing = builtinFunction(context, "heddle_nothing");
    if (!nothing)
      return nothing.takeError();
    launch.function = *nothing;
    launch.block = 32;
    return launch;
  }
  // An attribute of the function is set below for dynamic shared memory.
  launch.distances = Distances(node.table, variant.distances);
  bool canWait =
      !replayed && variant.sharedBytes == 0 && variant.distances.empty();
  if (canWait && kernels.awaitsCompilation(variant.entry)) {
    launch.entry = variant.entry;
  } else {
    Expected<CUfunction> function = functionOf(node, variant);
    if (!function)
      return function.takeError();
    launch.function = *function;
  }
  launch.grid = grid;
  launch.block = variant.block;
  if (variant.cluster)
    launch.cluster = blocksPerTile(node.table);
  launch.sharedBytes = variant.sharedBytes;
  // The driver refuses more than 48 KiB unless the attribute is set.
  if (variant.sharedBytes > 0)
    HEDDLE_DRIVER_CALL(context->driver(), cuFuncSetAttribute, launch.function,
                       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       variant.sharedBytes);
  addArguments(node.arguments, variant.scalarsByValue, addresses, replayed,
               launch);
  return launch;
}

Expected<CUfunction> StepBuilder::functionOf(const PlanNode &node,
                                             const PlanVariant &variant) {
  return kernels.function(
      context, variant.entry,
      node.arguments.size() + !variant.distances.empty(),
      std::max(sizeof(DeviceTable),
               Distances(node.table, variant.distances).bytes()));
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
  // The first argument is the condition's handle; Graph::addKernel sets it.
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

} // namespace heddle::runtime

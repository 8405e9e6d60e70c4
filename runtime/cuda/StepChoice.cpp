//===- StepChoice.cpp - The variant and the grid of each node -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GraphSteps.h"
#include "runtime/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

Error StepBuilder::choose() {
  tileDescriptors.assign(plan.tables.size(), false);
  for (const TableView &table : layout.tables())
    tileBlocks.push_back(table.blocksPerTile);
  if (Error error = compile())
    return error;
  if (Error error = limitRowParts())
    return error;
  return chooseIn(plan.graph, /*inLoop=*/false);
}

/// Compiles the kernels that the bindings need in one batch, because the kernel
/// of a size class alone takes about as long as all others together.
Error StepBuilder::compile() {
  SmallVector<PanelClass> classes;
  SmallVector<const PlanNode *> otherForms;
  std::vector<std::string> entries;
  for (const PlanNode &node : plan.graph.nodes) {
    // Entries for distances are not compiled before a list is large.
    if (any_of(node.variants, [](const PlanVariant &variant) {
          return !variant.distances.empty();
        })) {
      auto first = find_if(node.variants, [&](const PlanVariant &variant) {
        return holds(node, variant, /*forCapture=*/false);
      });
      if (first != node.variants.end() && !first->distances.empty())
        entries.push_back(first->entry);
    }
    if (auto parts = node.panel ? sizeClassesOf(node) : std::nullopt)
      for (const PanelMembers &part : *parts)
        classes.push_back(part.shape);
    else if (node.panel || !ownsScalars(node))
      otherForms.push_back(&node);
  }
  return kernels.compileFor(classes, otherForms, std::move(entries));
}

/// Whether the graph owns all by-value scalars of a node.
bool StepBuilder::ownsScalars(const PlanNode &node) const {
  return all_of(node.arguments, [&](const PlanArgument &argument) {
    return argument.kind != ArgumentKind::Scalar ||
           layout.buffers()[argument.index].owned;
  });
}

Error StepBuilder::limitRowParts() {
  for (const PlanNode &node : plan.graph.nodes) {
    if (node.table < 0 || !plan.tables[node.table].rowParts)
      continue;
    for (const PlanVariant &variant : node.variants) {
      if (tileBlocks[node.table] == 1)
        break;
      // The blocks of a cluster start together. If this variant is used in
      // every case, no other is compiled.
      if (variant.cluster) {
        Expected<unsigned> grid = gridOf(node, variant);
        if (!grid)
          return grid.takeError();
        if (*grid > 0 && holds(node, variant, /*forCapture=*/true))
          break;
        continue;
      }
      // An entry for parts alone, or for long parts, is checked if a replay may
      // take it. If a capture takes it, too, no later variant runs.
      bool isForParts =
          variant.maxParts || (variant.mostlyOver && !variant.maxColumns);
      if (isForParts && !holds(node, variant, /*forCapture=*/false))
        continue;
      // An entry for held rows does not have rows that blocks divide.
      if (variant.maxColumns &&
          layout.tables()[node.table].widest > *variant.maxColumns)
        continue;
      Expected<int64_t> resident = residentBlocks(node, variant);
      if (!resident)
        return resident.takeError();
      // Half of the device is enough, so that another graph can have the other
      // half: blocks of two launches that wait on the same device could
      // otherwise wait for each other.
      if (2 * tileBlocks[node.table] > *resident)
        tileBlocks[node.table] = 1;
      if (isForParts && holds(node, variant, /*forCapture=*/true))
        break;
    }
  }
  return Error::success();
}

Error StepBuilder::chooseIn(const PlanGraph &graph, bool inLoop) {
  for (const PlanNode &node : graph.nodes) {
    size_t index = choices.size();
    choices.emplace_back();
    Choice choice;
    if (node.kind == NodeKind::Copy || node.kind == NodeKind::Fill) {
      addSpans(node, choice);
    } else if (node.kind == NodeKind::While && !inLoop && node.panel) {
      auto panels = choosePanels(node);
      if (!panels)
        return panels.takeError();
      choice.panels = std::move(*panels);
    }
    if (node.kind == NodeKind::While && node.panel && choice.panels.empty())
      if (Error error = kernels.compileFor({}, &node))
        return error;
    if (choice.panels.empty() &&
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

/// Whether a kernel node has no work for the bound buffers.
bool StepBuilder::hasNoWork(const PlanNode &node) const {
  bool hasTable = node.table >= 0 ||
                  any_of(node.arguments, [](const PlanArgument &argument) {
                    return argument.kind == ArgumentKind::Table;
                  });
  return hasTable && !node.always && tilesOfNode(node).first == 0;
}

Expected<int64_t> StepBuilder::residentBlocks(const PlanNode &node,
                                              const PlanVariant &variant) {
  Expected<CUfunction> function = functionOf(node, variant);
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
  return std::max(int64_t(perMultiprocessor) * context->multiprocessors(),
                  int64_t(0));
}

Expected<int> StepBuilder::residentClusters(const PlanNode &node,
                                            const PlanVariant &variant) {
  Expected<CUfunction> function = functionOf(node, variant);
  if (!function)
    return function.takeError();
  const Driver &driver = context->driver();
  const unsigned blocks = blocksPerTile(node.table);
  constexpr unsigned portable = 8;
  // Some devices have no larger clusters.
  if (blocks > portable &&
      driver.cuFuncSetAttribute(
          *function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) !=
          CUDA_SUCCESS)
    return 0;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {blocks, 1, 1};
  CUlaunchConfig config = {};
  config.gridDimX = blocks;
  config.blockDimX = variant.block;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = variant.sharedBytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  CUresult result =
      driver.cuOccupancyMaxActiveClusters(&clusters, *function, &config);
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE)
    return 0;
  if (result != CUDA_SUCCESS)
    return driverError(driver, result, "cuOccupancyMaxActiveClusters");
  return clusters;
}

Expected<unsigned> StepBuilder::gridOf(const PlanNode &node,
                                       const PlanVariant &variant) {
  int64_t grid = 1;
  if (variant.cluster) {
    if (!holds(node, variant, /*forCapture=*/false))
      return 0;
    Expected<int> clusters = residentClusters(node, variant);
    if (!clusters)
      return clusters.takeError();
    if (*clusters == 0)
      return 0;
  }
  if (variant.grid == GridKind::Tiles) {
    const TableView &table = layout.tables()[node.table];
    grid = int64_t(table.tileCount) * blocksPerTile(node.table);
  }
  if (variant.grid == GridKind::Members)
    grid = layout.tables()[node.table].memberCount;
  if (variant.grid == GridKind::Fixed)
    grid = variant.gridBlocks;
  if (variant.grid != GridKind::Resident && !variant.cooperative)
    return std::max<int64_t>(grid, 1);

  Expected<int64_t> resident = residentBlocks(node, variant);
  if (!resident)
    return resident.takeError();
  if (variant.grid == GridKind::Resident)
    return std::min(*resident, std::max<int64_t>(tilesOfNode(node).second, 1));
  return grid <= *resident ? std::max<int64_t>(grid, 1) : 0;
}

bool StepBuilder::holds(const PlanNode &node, const PlanVariant &variant,
                        bool forCapture) const {
  int64_t tiles = tilesOfNode(node).first;
  if ((variant.maxTiles && tiles > *variant.maxTiles) ||
      (variant.minTiles && tiles < *variant.minTiles))
    return false;
  if (variant.minElements &&
      layout.tables()[node.table].elements < *variant.minElements)
    return false;
  if (variant.fitsL2 &&
      static_cast<double>(layout.tables()[node.table].elementBytes) >
          *variant.fitsL2 * static_cast<double>(context->l2Bytes()))
    return false;
  if (variant.maxColumns &&
      layout.tables()[node.table].widest > *variant.maxColumns)
    return false;
  if (variant.mostlyOver &&
      !layout.tables()[node.table].isMostlyOver(*variant.mostlyOver))
    return false;
  if (variant.mostlyMultiplesOf &&
      !layout.tables()[node.table].areMostlyVectorsOf(
          *variant.mostlyMultiplesOf))
    return false;
  if (variant.maxParts) {
    const TableView &view = layout.tables()[node.table];
    const PlanTable &table = plan.tables[node.table];
    if ((variant.cluster && !context->hasClusters()) ||
        (blocksPerTile(node.table) == 1 && !table.severalParts) ||
        blocksPerTile(node.table) > *variant.maxParts ||
        !haveShortParts(table, view.narrowest, view.widest))
      return false;
  }
  // A captured launch would keep the current values of its scalars.
  return !variant.scalarsByValue || !node.hasByValueScalars() ||
         (!forCapture && ownsScalars(node));
}

Error StepBuilder::chooseVariants(const PlanNode &node, Choice &choice,
                                  bool inLoop) {
  const Driver &driver = context->driver();
  bool canLoop = driver.graphAddNode && driver.cuGraphConditionalHandleCreate;
  bool loopRefused = false;
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
      loopRefused |= !canLoop;
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
        loopRefused ? StatusCode::Unavailable : StatusCode::Failed,
        "node '{0}': no variant can run on {1} with {2}{3}", node.name,
        context->name(), counted(tilesOfNode(node).first, "tile"),
        loopRefused
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

} // namespace heddle::runtime

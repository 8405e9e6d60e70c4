//===- StepPanels.cpp - The panel form of a loop --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GraphSteps.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

std::optional<PanelClass> StepBuilder::sizeClassOf(const PlanNode &node) const {
  if (!node.panel || !context->canCopyInBulk())
    return std::nullopt;
  const TableView &view = layout.tables()[node.panel->table];
  if (view.memberCount == 0 || view.widest == 0)
    return std::nullopt;
  return panelClassFor(*node.panel, view.narrowest, view.widest, view.longest,
                       context->sharedBytes());
}

Expected<std::optional<StepBuilder::PanelChoice>>
StepBuilder::choosePanel(const PlanNode &node) {
  std::optional<PanelChoice> none;
  std::optional<PanelClass> panels = sizeClassOf(node);
  if (!panels)
    return none;
  const TableView &view = layout.tables()[node.panel->table];
  Expected<CUfunction> function = kernels.panelFunction(
      context, node.panel->entry, node.panel->arguments.size(), *panels);
  if (!function) {
    // If the class does not fit on the architecture, the loop runs in another
    // form.
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
  if (int64_t(fixedBytes) + panels->sharedBytes > context->sharedBytes())
    return none;
  HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, *function,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     panels->sharedBytes);
  // The number of clusters that fit on the device at once. A cluster runs
  // within one GPC, so some multiprocessors may stay unused.
  const int cluster = std::max(panels->cluster, panels->clusterPerMember);
  int found = 0;
  int64_t resident = 0;
  if (cluster == 1) {
    HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                       &found, *function, panels->threads, panels->sharedBytes);
    resident = int64_t(found) * context->multiprocessors();
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
    HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveClusters, &found, *function,
                       &config);
    resident = found;
  }
  // With a cluster per member, the clusters need not be resident at once.
  const int64_t clusters =
      panels->clusterPerMember && resident > 0
          ? std::min<int64_t>(view.memberCount, max_member_clusters)
          : std::min<int64_t>({panels->panels(), resident,
                               std::max<int64_t>(view.longest, 1)});
  if (clusters <= 0)
    return none;
  choice.grid = clusters * cluster;
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

} // namespace heddle::runtime

//===- StepPanels.cpp - The panel form of a loop --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GraphSteps.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

std::optional<std::vector<PanelMembers>>
StepBuilder::sizeClassesOf(const PlanNode &node) const {
  if (!node.panel || !context->canCopyInBulk())
    return std::nullopt;
  const TableView &view = layout.tables()[node.panel->table];
  if (view.memberCount == 0 || view.widest == 0)
    return std::nullopt;
  return panelClassesFor(*node.panel, view.extents, context->sharedBytes());
}

Expected<StepBuilder::PanelChoices>
StepBuilder::choosePanels(const PlanNode &node) {
  PanelChoices choices;
  std::optional<std::vector<PanelMembers>> classes = sizeClassesOf(node);
  if (!classes)
    return choices;
  for (const PanelMembers &part : *classes) {
    Expected<std::optional<PanelChoice>> choice = choosePanel(node, part);
    if (!choice)
      return choice.takeError();
    if (!*choice)
      return PanelChoices();
    choices.push_back(**choice);
  }
  // The indices of the members of each launch.
  if (classes->size() > 1)
    for (auto [choice, part] : zip(choices, *classes)) {
      choice.membersOffset = alignUp(spanBytes.size());
      size_t bytes = part.members.size() * sizeof(int);
      spanBytes.resize(*choice.membersOffset + bytes);
      std::memcpy(spanBytes.data() + *choice.membersOffset, part.members.data(),
                  bytes);
    }
  return choices;
}

Expected<std::optional<StepBuilder::PanelChoice>>
StepBuilder::choosePanel(const PlanNode &node, const PanelMembers &part) {
  std::optional<PanelChoice> none;
  const PanelClass &panels = part.shape;
  const TableView &view = layout.tables()[node.panel->table];
  Expected<CUfunction> function = kernels.panelFunction(
      context, node.panel->entry, node.panel->arguments.size(), panels);
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
  choice.block = panels.threads;
  choice.sharedBytes = panels.sharedBytes;
  choice.cooperative = panels.clusterPerMember == 0;
  choice.memberCount = part.members.size();
  const Driver &driver = context->driver();
  int fixedBytes = 0;
  HEDDLE_DRIVER_CALL(driver, cuFuncGetAttribute, &fixedBytes,
                     CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *function);
  if (int64_t(fixedBytes) + panels.sharedBytes > context->sharedBytes())
    return none;
  HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, *function,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     panels.sharedBytes);
  // The number of clusters that fit on the device at once. A cluster runs
  // within one GPC, so some multiprocessors may stay unused.
  const int cluster = std::max(panels.cluster, panels.clusterPerMember);
  int found = 0;
  int64_t resident = 0;
  if (cluster == 1) {
    HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                       &found, *function, panels.threads, panels.sharedBytes);
    resident = int64_t(found) * context->multiprocessors();
  } else {
    if (cluster > 8)
      HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, *function,
                         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                         1);
    CUlaunchConfig config = {};
    config.gridDimX = cluster;
    config.blockDimX = panels.threads;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = panels.sharedBytes;
    HEDDLE_DRIVER_CALL(driver, cuOccupancyMaxActiveClusters, &found, *function,
                       &config);
    resident = found;
  }
  // A cluster per member is launched for every member: the device starts a
  // cluster when one has ended.
  const int64_t clusters =
      panels.clusterPerMember && resident > 0
          ? std::min<int64_t>(choice.memberCount, INT32_MAX / cluster)
          : std::min<int64_t>({panels.panels(), resident,
                               std::max<int64_t>(view.longest, 1)});
  if (clusters <= 0)
    return none;
  choice.grid = clusters * cluster;
  return std::optional(choice);
}

Launch StepBuilder::panel(const PlanNode &node, const PanelChoice &choice,
                          const Addresses &addresses) {
  Launch launch;
  launch.name = node.name;
  launch.cooperative = choice.cooperative;
  launch.function = choice.function;
  launch.grid = choice.grid;
  launch.block = choice.block;
  launch.sharedBytes = choice.sharedBytes;
  // Only this launch has these members, so its table differs.
  Addresses own = addresses;
  if (choice.membersOffset) {
    DeviceTable &table = own.tables[node.panel->table];
    table.chosen = addresses.spanDescriptors + *choice.membersOffset;
    table.memberCount = choice.memberCount;
  }
  addArguments(node.panel->arguments, /*byValue=*/false, own,
               /*replayed=*/true, launch);
  return launch;
}

} // namespace heddle::runtime

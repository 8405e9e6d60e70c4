//===- StepPanels.cpp - The panel form of a loop --------------------------===//

#include "runtime/cuda/GraphSteps.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

std::optional<PanelClass>
StepBuilder::sizeClassOf(const PlanNode &node) const {
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

} // namespace heddle::runtime

//===- PanelLayout.cpp - what a loop of panels is called with -------------===//

#include "codegen/layout/PanelLayout.h"
#include "codegen/layout/Steps.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle {

std::optional<PanelLayout> PanelLayout::compute(fused::LoopOp loop,
                                                const Buffers &buffers) {
  Block &body = loop.getBody().front();
  auto sweep = dyn_cast<fused::SweepOp>(body.front());
  std::string why;
  if (!sweep || !sweep.getScheduleAttr() ||
      sweep.getScheduleAttr().getKind() != fused::ScheduleKind::panel)
    return std::nullopt;
  auto passes = fused::PanelAnalysis::of(sweep, why);
  auto layout = SweepLayout::compute(sweep, buffers);
  if (!passes || failed(layout))
    return std::nullopt;
  // Copies between iterations would be launches of their own.
  if (!carriesInPlace(loop, buffers))
    return std::nullopt;
  PanelLayout panel;
  panel.passes = std::move(*passes);
  panel.limit = buffers.of(loop.getLimit());
  panel.name = (loop.getName().value_or("loop") + "_panels").str();
  for (auto [slot, operand] : llvm::enumerate(layout->segments[0].operands))
    if (operand.index == kIJ)
      panel.matrices.push_back(slot);
    else if (operand.index == kI)
      panel.keptOfRow += storageBytes(operand.storage);
    else if (operand.index == kJ) {
      panel.keptOfColumn += storageBytes(operand.storage);
      panel.clusterPerMember &=
          !operand.written || storageBytes(operand.storage) >= 4;
    }
  // The last block of such a cluster needs a message from every other block.
  panel.clusterPerMember &= !panel.passes.members.empty();
  auto bytes = [](Value value) { return storageBytes(value.getType()); };
  int64_t kept = 0, once = 0;
  for (fused::ReduceOp column : panel.passes.columns) {
    panel.scratch.push_back(
        {PanelScratchPer::panelColumn, bytes(column.getValue()), column});
    once += bytes(column.getValue());
    if (fused::PanelAnalysis::sumsPowers(column))
      panel.scratch.push_back(
          {PanelScratchPer::row, bytes(column.getValue()), column});
    if (fused::PanelAnalysis::takesOwnPowers(column))
      once += bytes(column.getValue());
  }
  for (fused::ReduceOp member : panel.passes.members)
    panel.scratch.push_back(
        {PanelScratchPer::panel,
         stateBytes(member.getKind(), member.getValue().getType()), member});
  for (fused::ReduceOp row : panel.passes.rows)
    if (row.getShift()) {
      panel.scratch.push_back(
          {PanelScratchPer::row, bytes(row.getValue()), row});
      once += bytes(row.getValue());
    }
  for (const PanelScratch &area : panel.scratch)
    if (area.per == PanelScratchPer::row)
      panel.keptOfRow += area.bytes;
  for (Value value : panel.passes.kept)
    kept += bytes(value);
  for (Operation *op : panel.passes.shared)
    kept += bytes(cast<fused::ReduceOp>(op).getValue());
  auto levels = fused::Levels::infer(sweep, 0);
  for (BlockArgument argument : sweep.getSegmentBlock(0).getArguments())
    if (levels->of(argument).level == Level::column &&
        llvm::any_of(argument.getUsers(),
                     [&](Operation *user) {
                       return !isa<fused::YieldOp, fused::ReduceOp>(user) &&
                              levels->of(user->getResult(0)).level ==
                                  Level::element;
                     }) &&
        llvm::none_of(panel.passes.rows, [](fused::ReduceOp row) {
          return static_cast<bool>(row.getShift());
        }))
      once += bytes(argument);
  panel.words = (once + 3) / 4;
  panel.rowWords = (kept + 3) / 4;
  return panel;
}

int PanelLayout::scratchOf(fused::ReduceOp owner, PanelScratchPer per) const {
  for (auto [k, slot] : llvm::enumerate(scratch))
    if (slot.owner == owner && slot.per == per)
      return k;
  return -1;
}

} // namespace heddle

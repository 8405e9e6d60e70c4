//===- PanelLayout.cpp - arguments of a panel loop ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/PanelLayout.h"
#include "codegen/layout/ProgramNodes.h"
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
  auto analysis = fused::PanelAnalysis::of(sweep, why);
  auto layout = SweepLayout::compute(sweep, buffers);
  if (!analysis || failed(layout))
    return std::nullopt;
  // A copy between iterations would need a launch of its own.
  if (!carriesInPlace(loop, buffers))
    return std::nullopt;
  PanelLayout panel;
  panel.analysis = std::move(*analysis);
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
  // The last block of the cluster needs a message from every other block.
  panel.clusterPerMember &= !panel.analysis.members.empty();
  auto bytes = [](Value value) { return storageBytes(value.getType()); };
  int64_t perRow = 0, acrossRows = 0;
  for (fused::ReduceOp column : panel.analysis.columns) {
    panel.scratch.push_back(
        {PanelScratchPer::panelColumn, bytes(column.getValue()), column});
    acrossRows += bytes(column.getValue());
    if (fused::PanelAnalysis::sumsPowers(column))
      panel.scratch.push_back(
          {PanelScratchPer::row, bytes(column.getValue()), column});
    if (fused::PanelAnalysis::takesOwnPowers(column))
      acrossRows += bytes(column.getValue());
  }
  for (fused::ReduceOp member : panel.analysis.members)
    panel.scratch.push_back(
        {PanelScratchPer::panel,
         stateBytes(member.getKind(), member.getValue().getType()), member});
  for (fused::ReduceOp member : panel.analysis.ofCompleteColumns) {
    int64_t size = bytes(member.getValue());
    panel.scratch.push_back({PanelScratchPer::column, size, member});
    panel.keptOfColumn += size;
    panel.clusterPerMember &= size >= 4;
  }
  for (fused::ReduceOp row : panel.analysis.rows)
    if (row.getShift()) {
      panel.scratch.push_back(
          {PanelScratchPer::row, bytes(row.getValue()), row});
      acrossRows += bytes(row.getValue());
    }
  for (const PanelScratch &area : panel.scratch)
    if (area.per == PanelScratchPer::row)
      panel.keptOfRow += area.bytes;
  for (Value value : panel.analysis.kept)
    perRow += bytes(value);
  for (Operation *op : panel.analysis.shared)
    perRow += bytes(cast<fused::ReduceOp>(op).getValue());
  auto levels = fused::Levels::infer(sweep, 0);
  for (BlockArgument argument : sweep.getSegmentBlock(0).getArguments())
    if (levels->of(argument).level == Level::column &&
        llvm::any_of(argument.getUsers(),
                     [&](Operation *user) {
                       return !isa<fused::YieldOp, fused::ReduceOp>(user) &&
                              levels->of(user->getResult(0)).level ==
                                  Level::element;
                     }) &&
        llvm::none_of(panel.analysis.rows, [](fused::ReduceOp row) {
          return static_cast<bool>(row.getShift());
        }))
      acrossRows += bytes(argument);
  panel.words = (acrossRows + 3) / 4;
  panel.rowWords = (perRow + 3) / 4;
  return panel;
}

int PanelLayout::scratchOf(fused::ReduceOp owner, PanelScratchPer per) const {
  for (auto [k, slot] : llvm::enumerate(scratch))
    if (slot.owner == owner && slot.per == per)
      return k;
  return -1;
}

} // namespace heddle

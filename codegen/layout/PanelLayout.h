//===- PanelLayout.h - arguments of a panel loop ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the arguments is in KernelSignature.h. The runtime chooses the
// size class (docs/plan.md, Panel loops).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_PANELLAYOUT_H
#define HEDDLE_CODEGEN_LAYOUT_PANELLAYOUT_H

#include "codegen/device/panel_constants.h"
#include "codegen/layout/SweepLayout.h"
#include "dialect/FusedPanelAnalysis.h"

namespace heddle {

/// A scratch area has one value per column of each panel, per row, per panel,
/// or per column.
enum class PanelScratchPer { panelColumn, row, panel, column };

struct PanelScratch {
  PanelScratchPer per;
  int64_t bytes;
  fused::ReduceOp owner;
};

struct PanelLayout {
  /// The layout of `loop`; nothing if the loop has no panel form.
  static std::optional<PanelLayout> compute(fused::LoopOp loop,
                                            const Buffers &buffers);

  fused::PanelAnalysis analysis;
  llvm::SmallVector<PanelScratch> scratch;
  /// Operand slots of the matrices that are read element by element.
  llvm::SmallVector<int> matrices;
  /// 4-byte words that a thread holds per column: across rows, and for the
  /// current row of its thread group.
  int64_t words = 0, rowWords = 0;
  /// Bytes per row, and per column, that a cluster per member keeps in shared
  /// memory between iterations.
  int64_t keptOfRow = 0, keptOfColumn = 0;
  /// Whether a cluster per member is possible: its blocks send each other
  /// whole words, and the loop has a reduction over the member.
  bool clusterPerMember = true;
  /// The buffer of the largest number of iterations.
  int limit = -1;
  /// The entry.
  std::string name;

  /// The position in `scratch` of an area; -1 if there is none.
  int scratchOf(fused::ReduceOp owner, PanelScratchPer per) const;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_PANELLAYOUT_H

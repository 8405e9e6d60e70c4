//===- PanelLayout.h - what a loop of panels is called with -----*- C++ -*-===//
//
// The arguments of the launch that runs a whole loop, in order: the sweep's
// table, its scalars, the bound of iterations, its scratch areas, a barrier.
// The runtime picks the class of widths (docs/plan.md, Panels).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_PANELLAYOUT_H
#define HEDDLE_CODEGEN_LAYOUT_PANELLAYOUT_H

#include "codegen/device/panel_constants.h"
#include "codegen/layout/SweepLayout.h"
#include "dialect/FusedPanelAnalysis.h"

namespace heddle {

/// What an area has one value of: a column in each panel, a row, a panel.
enum class PanelScratchPer { panelColumn, row, panel };

struct PanelScratch {
  PanelScratchPer per;
  int64_t bytes;
  fused::ReduceOp owner;
};

struct PanelLayout {
  /// Nothing where the loop has no such form.
  static std::optional<PanelLayout> compute(fused::LoopOp loop,
                                            const Buffers &buffers);

  fused::PanelAnalysis passes;
  llvm::SmallVector<PanelScratch> scratch;
  /// Operand slots of the matrices that are read element by element.
  llvm::SmallVector<int> matrices;
  /// 4-byte words that a thread holds for each of its columns: in total, and
  /// for the current row of its thread group.
  int64_t words = 0, rowWords = 0;
  /// Bytes per row, and per column, that a cluster with a member of its own
  /// caches in shared memory between iterations.
  int64_t keptOfRow = 0, keptOfColumn = 0;
  /// Whether one cluster may process a member alone: its blocks send each other
  /// whole words, and each block has a part of the member's reductions.
  bool clusterPerMember = true;
  int limit = -1;
  std::string name;

  int scratchOf(fused::ReduceOp owner, PanelScratchPer per) const;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_PANELLAYOUT_H

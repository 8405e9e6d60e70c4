//===- FusedPanelAnalysis.h - sweeps for the panel schedule -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the panel schedule a block processes each row in two phases: the reduce
// phase reduces the row; the accumulate phase adds the row to the columns while
// the row is still on chip. The analysis assigns each operation to a phase, or
// gives the reason why a sweep cannot have this schedule.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSEDPANELANALYSIS_H
#define HEDDLE_DIALECT_FUSEDPANELANALYSIS_H

#include "dialect/FusedLevels.h"
#include "llvm/ADT/SetVector.h"

namespace heddle::fused {

/// The phases of a sweep with one segment in a loop.
struct PanelAnalysis {
  /// Reductions over rows, over columns, and over the member (of row values, or
  /// of column values from before the sweep), in order.
  llvm::SmallVector<ReduceOp> rows, columns, members;
  /// Reductions over the member of column values that the iteration computes.
  llvm::SmallVector<ReduceOp> ofCompleteColumns;
  /// Values of the accumulate phase: they depend on a reduction of their row.
  llvm::DenseSet<mlir::Value> accumulated;
  /// Element values of the reduce phase that the accumulate phase uses, except
  /// the exponentials that columns share with rows.
  llvm::SetVector<mlir::Value> kept;
  /// Row reductions whose exponentials columns share.
  llvm::SetVector<mlir::Operation *> shared;
  /// For each log-sum-exp over columns, the shifted row reduction on which its
  /// exponents depend, or null. A row can be added to the column when this
  /// reduction is complete.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> rowBefore;

  /// The phases of `sweep`. Returns nothing, and the reason in `why`, if it
  /// cannot have the panel schedule.
  static std::optional<PanelAnalysis> of(SweepOp sweep, std::string &why);

  bool isAccumulated(mlir::Value value) const {
    return accumulated.contains(value);
  }
  /// Whether `column` is a plain sum of exponentials: those of a row, or its
  /// own.
  static bool sumsPowers(ReduceOp column) {
    return column.getSharing() || column.getShift();
  }
  /// Whether `column` is a plain sum of its own shifted exponentials.
  static bool takesOwnPowers(ReduceOp column) {
    return column.getShift() && !column.getSharing();
  }
};

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_FUSEDPANELANALYSIS_H

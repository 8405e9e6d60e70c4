//===- SweepMerger.h - one sweep from several over one domain ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bodies follow each other. A body uses the values that an earlier one
// yields, rounded to the type of the result that they replace.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SWEEPMERGER_H
#define HEDDLE_PASSES_SWEEPMERGER_H

#include "dialect/Fused.h"
#include "mlir/IR/Builders.h"

namespace heddle::fused {

/// How the domain of a sweep lies in the one of the merged sweep: it is the
/// same, or that of the members; the rows; the columns.
enum class Fit { same, rows, columns };

/// The index in the merged domain of an operand that has `index` in a domain
/// that fits as `fit` says.
int32_t indexIn(int32_t index, Fit fit);

struct SweepPart {
  SweepOp sweep;
  Fit fit;
  /// The arguments of later parts that results of earlier parts replace: these
  /// results are rounded before the body of this part.
  llvm::SmallVector<mlir::BlockArgument> replaced;
};

/// Replaces sweeps of one segment each by one sweep, which `builder` inserts.
/// Reductions must say what they count (`from`), because their operands may be
/// replaced.
SweepOp mergeSweeps(mlir::OpBuilder &builder, llvm::ArrayRef<SweepPart> parts);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_SWEEPMERGER_H

//===- SweepMerger.h - one sweep from several over one domain ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The merged body consists of the bodies, one after the other. A body uses the
// values that an earlier body yields, rounded to the types of the results that
// they replace.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SWEEPMERGER_H
#define HEDDLE_PASSES_SWEEPMERGER_H

#include "dialect/Fused.h"
#include "mlir/IR/Builders.h"

namespace heddle::fused {

/// How the domain of a sweep lies in the domain of the merged sweep: as the
/// same domain or its members, as its rows, or as its columns.
enum class Fit { same, rows, columns };

/// Converts `index`, the index of an operand in a domain with this fit, to the
/// merged domain.
int32_t indexIn(int32_t index, Fit fit);

struct SweepPart {
  SweepOp sweep;
  Fit fit;
  /// Arguments of later parts that results of earlier parts replace. These
  /// results are rounded before the body of this part.
  llvm::SmallVector<mlir::BlockArgument> roundedHere;
};

/// Replaces sweeps of one segment each by one sweep, which `builder` inserts.
/// Reductions must have the attribute `from`, because a value that replaces
/// their operand may have another level.
SweepOp mergeSweeps(mlir::OpBuilder &builder, llvm::ArrayRef<SweepPart> parts);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_SWEEPMERGER_H

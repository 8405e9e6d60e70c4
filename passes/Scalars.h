//===- Scalars.h - what passes ask of scalar operations ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding, cost and the slices of scalar math that move together.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SCALARS_H
#define HEDDLE_PASSES_SCALARS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

/// `value` as it reads after having been stored as `storage` and bound as
/// `bound`.
mlir::Value convertThrough(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type storage,
                           mlir::Type bound);

/// Whether every thread computing `op` would cost more than memory hides:
/// powers, exponentials and logarithms, divisions and square roots in double.
bool isDear(mlir::Operation *op);

/// Scalar math that can be taken out of a body together.
struct Slice {
  /// In the order of the body. Constants among them are to be cloned.
  llvm::SetVector<mlir::Operation *> ops;
  /// Block arguments that the slice computes from, in order.
  llvm::SetVector<mlir::Value> inputs;
  /// Values that the rest of the body uses and that are too dear to compute
  /// there; in the order of the body.
  llvm::SetVector<mlir::Value> results;
};

/// The dear operations of `body` for which `mayMove` holds, with the operations
/// that they are computed from (`mayMove` must hold for those too) and the
/// cheap ones that follow from them alone.
Slice dearSlice(mlir::Block &body,
                llvm::function_ref<bool(mlir::Operation *)> mayMove);

/// Clones the operations of `body` but its terminator.
void cloneBody(mlir::OpBuilder &builder, mlir::Block &body,
               mlir::IRMapping &mapping);

/// Folds, merges and removes operations within the regions of `root`, which is
/// isolated from above. Only what is exact is folded.
void cleanBodies(mlir::Operation *root);

} // namespace heddle

#endif // HEDDLE_PASSES_SCALARS_H

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

/// The value that a reader gets if `value` is stored as `storage` and bound as
/// `bound`.
mlir::Value convertThrough(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type storage,
                           mlir::Type bound);

/// Whether `op` is expensive: memory accesses do not hide its cost if every
/// thread computes it. These are powers, exponentials and logarithms, and
/// divisions and square roots in double.
bool isDear(mlir::Operation *op);

/// Scalar math that can be taken out of a body together.
struct Slice {
  /// In the order of the body. Constants among them are to be cloned.
  llvm::SetVector<mlir::Operation *> ops;
  /// The block arguments that the slice uses, in order.
  llvm::SetVector<mlir::Value> inputs;
  /// Values that the rest of the body uses and that are too expensive to
  /// compute there, in the order of the body.
  llvm::SetVector<mlir::Value> results;
};

/// The expensive operations of `body` for which `mayMove` holds, the operations
/// on which they depend (`mayMove` must hold for these too), and the cheap ones
/// that depend on them only.
Slice dearSlice(mlir::Block &body,
                llvm::function_ref<bool(mlir::Operation *)> mayMove);

/// Clones the operations of `body` except its terminator.
void cloneBody(mlir::OpBuilder &builder, mlir::Block &body,
               mlir::IRMapping &mapping);

/// Folds, merges and removes operations within the regions of `root`, which is
/// isolated from above. Only exact operations are folded.
void cleanBodies(mlir::Operation *root);

} // namespace heddle

#endif // HEDDLE_PASSES_SCALARS_H

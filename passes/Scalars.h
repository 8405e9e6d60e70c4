//===- Scalars.h - scalar operations in passes ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding, cost, and slices of scalar math that move together.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SCALARS_H
#define HEDDLE_PASSES_SCALARS_H

#include "dialect/Foreach.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

/// `value`, as if stored in the type `storage` and then read as the type
/// `bound`.
mlir::Value convertThrough(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type storage,
                           mlir::Type bound);

/// Whether memory accesses do not hide the time of `op` if every thread
/// computes it: powers, exponentials and logarithms; divisions and square roots
/// in double.
bool isExpensive(mlir::Operation *op);

/// Scalar math that can leave a body together.
struct Slice {
  /// The operations, in the order of the body. Constants in the slice are
  /// cloned, not moved.
  llvm::SetVector<mlir::Operation *> ops;
  /// Block arguments that the slice reads, in order.
  llvm::SetVector<mlir::Value> inputs;
  /// Values that the rest of the body uses and that are too expensive to
  /// recompute there, in the order of the body.
  llvm::SetVector<mlir::Value> results;
};

/// The expensive operations of `body` for which `mayMove` holds, the operations
/// on which they depend (`mayMove` must hold for these, too), and the cheap
/// operations that depend on nothing else.
Slice expensiveSlice(mlir::Block &body,
                     llvm::function_ref<bool(mlir::Operation *)> mayMove);

/// Makes `op`, an extent or a position, one of the dimension `axis`: a copy in
/// another body has another domain.
void setAxis(mlir::Operation *op, foreach::Axis axis);

/// Clones the operations of `body` except its terminator.
void cloneBody(mlir::OpBuilder &builder, mlir::Block &body,
               mlir::IRMapping &mapping);

/// Folds, merges and removes operations in the regions of `root`, which must be
/// isolated from above. All folds are exact.
void cleanBodies(mlir::Operation *root);

} // namespace heddle

#endif // HEDDLE_PASSES_SCALARS_H

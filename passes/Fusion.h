//===- Fusion.h - what both fusions ask of sweeps ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dependences between the operations of a block, and how two become one.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_FUSION_H
#define HEDDLE_PASSES_FUSION_H

#include "dialect/Fused.h"

namespace heddle::fused {

/// Whether `to` needs `from`, both operations of one block, by way of a third.
bool dependsIndirectly(mlir::Operation *to, mlir::Operation *from);

/// Whether `to`, or an operation in it, reads a result of `from`.
bool dependsDirectly(mlir::Operation *to, mlir::Operation *from);

/// Whether `to` reads results of `from` outside of its `finish`.
bool segmentsRead(SweepOp to, SweepOp from);

/// Whether values of rows or columns are made in `sweep`, so that it must walk
/// its matrices row by row.
bool needsRows(SweepOp sweep);

/// Moves what stands between `first` and `second` and follows from `first`
/// behind `second`. The two must not depend indirectly.
void makeAdjacent(mlir::Operation *first, mlir::Operation *second);

/// The name of the result that says best what `op` is for: the first one of the
/// largest domain. Empty where none has a name.
llvm::StringRef mainName(mlir::Operation *op);

/// What remarks call a value.
std::string quoted(mlir::Value value);

/// What remarks call a sweep.
std::string nameForRemarks(SweepOp sweep);

/// The sweeps of `block` in order.
llvm::SmallVector<SweepOp> sweepsOf(mlir::Block &block);

/// Calls `visit` with every block of sweeps in a kernel, loops' first.
void forEachBlock(KernelOp kernel,
                  llvm::function_ref<void(mlir::Block &)> visit);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_FUSION_H

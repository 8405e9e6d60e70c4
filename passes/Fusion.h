//===- Fusion.h - facts about sweeps for fusion -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dependences between the operations of a block, and names for remarks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_FUSION_H
#define HEDDLE_PASSES_FUSION_H

#include "dialect/Fused.h"

namespace heddle::fused {

/// Whether `to` depends on `from` through a third operation of their block.
bool dependsIndirectly(mlir::Operation *to, mlir::Operation *from);

/// Whether `to`, or an operation in it, reads a result of `from`.
bool dependsDirectly(mlir::Operation *to, mlir::Operation *from);

/// Whether the segments of `to`, or its `where`, read results of `from`.
bool segmentsRead(SweepOp to, SweepOp from);

/// Whether `sweep` has row or column values and must therefore visit its
/// matrices by rows.
bool needsRows(SweepOp sweep);

/// Moves the operations between `first` and `second` that depend on `first`
/// after `second`, which must not depend on `first` indirectly.
void makeAdjacent(mlir::Operation *first, mlir::Operation *second);

/// The name of the first result with the largest domain; empty if no result has
/// a name.
llvm::StringRef mainName(mlir::Operation *op);

/// The name of a value in quotes, for remarks.
std::string quoted(mlir::Value value);

/// The name of a sweep in quotes, for remarks.
std::string nameForRemarks(SweepOp sweep);

/// The sweeps of `block` in order.
llvm::SmallVector<SweepOp> sweepsOf(mlir::Block &block);

/// Calls `visit` with every block of sweeps in a program, loop bodies first.
void forEachBlock(ProgramOp program,
                  llvm::function_ref<void(mlir::Block &)> visit);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_FUSION_H

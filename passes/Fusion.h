//===- Fusion.h - facts about sweeps for fusion -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a sweep visits rows, the blocks of a program, and names for remarks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_FUSION_H
#define HEDDLE_PASSES_FUSION_H

#include "dialect/Fused.h"

namespace heddle::fused {

/// Whether `sweep` has row or column values and must therefore visit its
/// matrices by rows.
bool needsRows(SweepOp sweep);

/// The name of the first result with the largest domain; empty if no result has
/// a name.
llvm::StringRef mainName(mlir::Operation *op);

/// The name of a value in quotes, for remarks.
std::string quoted(mlir::Value value);

/// The name of a sweep in quotes, for remarks.
std::string nameForRemarks(SweepOp sweep);

/// Calls `visit` with every block of sweeps in a program, loop bodies first.
void forEachBlock(ProgramOp program,
                  llvm::function_ref<void(mlir::Block &)> visit);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_FUSION_H

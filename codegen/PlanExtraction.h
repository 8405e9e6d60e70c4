//===- PlanExtraction.h - from placed IR to a plan --------------*- C++ -*-===//
//
// Buffers, tables, scratch, nodes and edges of docs/plan.md, read off the IR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_PLANEXTRACTION_H
#define HEDDLE_CODEGEN_PLANEXTRACTION_H

#include "codegen/Buffers.h"
#include "runtime/plan/Plan.h"

namespace heddle {

/// The plan of `kernel`, without source text; a located error where the IR
/// cannot be executed.
mlir::FailureOr<runtime::Plan> extractPlan(fused::KernelOp kernel,
                                           const Buffers &buffers);

/// How much of the L2 cache the elements of a sweep may take for what it
/// replaces to leave the cache first: beyond it that loses what would stay.
/// Measured on 60 MB: 57 MB win, 83 MB lose.
inline constexpr double kCachedPartOfL2 = 0.97;

/// Tiles up to which a loop runs in one launch: a few for every block that is
/// resident.
inline constexpr int64_t kMaxLoopTiles = 1 << 13;

} // namespace heddle

#endif // HEDDLE_CODEGEN_PLANEXTRACTION_H

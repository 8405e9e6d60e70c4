//===- PlanExtraction.h - the plan of a program -----------------*- C++ -*-===//
//
// Buffers, tables, scratch areas, nodes and edges (docs/plan.md).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_PLAN_PLANEXTRACTION_H
#define HEDDLE_CODEGEN_PLAN_PLANEXTRACTION_H

#include "codegen/layout/Buffers.h"
#include "runtime/plan/Plan.h"

namespace heddle {

/// The plan of `program`, without CUDA source. Emits an error if the IR cannot
/// be executed.
mlir::FailureOr<runtime::Plan> extractPlan(fused::ProgramOp program,
                                           const Buffers &buffers);

/// The part of the L2 cache that the elements of a sweep may fill for the
/// evict-first variant. With more elements, this variant evicts data that would
/// otherwise stay. Measured with 60 MB of L2: faster for 57 MB of elements,
/// slower for 83 MB.
inline constexpr double kEvictFirstPartOfL2 = 0.97;

/// The number of tiles up to which a loop runs in one launch: a few for each
/// resident block.
inline constexpr int64_t kMaxLoopTiles = 1 << 13;

} // namespace heddle

#endif // HEDDLE_CODEGEN_PLAN_PLANEXTRACTION_H

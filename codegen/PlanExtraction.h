//===- PlanExtraction.h - from placed IR to a plan --------------*- C++ -*-===//
//
// Buffers, tables, scratch, nodes and edges of docs/plan.md, read off the IR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_PLANEXTRACTION_H
#define HEDDLE_CODEGEN_PLANEXTRACTION_H

#include "codegen/Buffers.h"
#include "runtime/Plan.h"

namespace heddle {

/// The plan of `kernel`, without source text; a located error where the IR
/// cannot be executed.
mlir::FailureOr<runtime::Plan> extractPlan(fused::KernelOp kernel,
                                           const Buffers &buffers);

/// Tiles beyond which a block searches for its tile: a row for each would take
/// more memory than it saves time.
inline constexpr int64_t kMaxTileRows = 1 << 21;

} // namespace heddle

#endif // HEDDLE_CODEGEN_PLANEXTRACTION_H

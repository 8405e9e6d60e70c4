//===- PlanExtraction.h - the plan of a program -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

} // namespace heddle

#endif // HEDDLE_CODEGEN_PLAN_PLANEXTRACTION_H

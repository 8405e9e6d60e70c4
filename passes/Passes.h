//===- Passes.h - the passes of heddle --------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The declarations are generated from Passes.td; the order is in Pipelines.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_PASSES_H
#define HEDDLE_PASSES_PASSES_H

#include "dialect/Fused.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// Registers every pass, and the pipeline `heddle-pipeline`.
void registerPasses();

} // namespace heddle

#endif // HEDDLE_PASSES_PASSES_H

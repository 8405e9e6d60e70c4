//===- Pipelines.h - the passes in order ------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that run before CUDA source, a plan or machine code is emitted.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_PIPELINES_H
#define HEDDLE_PASSES_PIPELINES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
}

namespace heddle {

struct PipelineOptions {
  /// If false, each map and reduction becomes a sweep of its own. Tests compare
  /// both forms.
  bool fuse = true;
  /// Whether passes emit remarks.
  bool remarks = false;
};

/// Adds the passes to `manager`, which runs on modules.
void buildPipeline(mlir::OpPassManager &manager,
                   const PipelineOptions &options = {});

} // namespace heddle

#endif // HEDDLE_PASSES_PIPELINES_H

//===- Pipelines.h - the passes in order ------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes between a program and its emission.
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
  /// If false, each map and reduction of the program becomes a sweep of its
  /// own. Tests compare the two forms.
  bool fuse = true;
  /// Whether passes emit remarks.
  bool remarks = false;
};

/// The names of the passes, in order.
llvm::ArrayRef<llvm::StringRef> pipelinePasses();

/// Adds the passes to `manager`, whose operations are modules.
void buildPipeline(mlir::OpPassManager &manager,
                   const PipelineOptions &options = {});

} // namespace heddle

#endif // HEDDLE_PASSES_PIPELINES_H

//===- CompileTimes.h - cold and warm compilations --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time from a program to a loaded cubin: cold, with an empty cache, and
// warm, with a cache hit.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_COMPILETIMES_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_COMPILETIMES_H

#include "runtime/heddle.hpp"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>

namespace heddle::bench {

struct CompileTime {
  std::string program;
  double cold = 0, warm = 0; ///< seconds, medians of 5
};

/// Excludes costs that occur once per process: loading NVRTC, NVRTC's first
/// compilation, and the creation of the CUDA context.
llvm::Expected<std::vector<CompileTime>>
measureCompileTimes(llvm::ArrayRef<llvm::StringRef> programs);

/// Cold times of one sample in seconds: from the program to a graph, and from
/// this graph to one that is prepared for the bound problem.
struct ColdBinding {
  double program = 0, binding = 0;
};
llvm::Expected<ColdBinding> measureColdBinding(
    llvm::StringRef program,
    llvm::function_ref<llvm::Error(heddle::Graph &)> bindAndPrepare);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_COMPILETIMES_H

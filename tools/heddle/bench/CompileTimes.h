//===- CompileTimes.h - cold and warm compilations --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From program text to a loaded cubin, with an empty cache and out of it.
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

/// Leaves out what happens once per process: loading NVRTC's library, its first
/// compilation, the CUDA context.
llvm::Expected<std::vector<CompileTime>>
measureCompileTimes(llvm::ArrayRef<llvm::StringRef> programs);

/// Seconds, cold, of one sample: to a graph of the program, and from there
/// until the graph is prepared for what `bind` binds.
struct ColdBinding {
  double program = 0, binding = 0;
};
llvm::Expected<ColdBinding> measureColdBinding(
    llvm::StringRef program,
    llvm::function_ref<llvm::Error(heddle::Graph &)> bindAndPrepare);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_COMPILETIMES_H

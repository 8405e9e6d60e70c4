//===- BenchFiles.h - files that the benchmarks carry along -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written kernels and the shapes of models are part of the tool, so
// that it measures the same wherever it lies.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_BENCHFILES_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_BENCHFILES_H

#include "llvm/ADT/StringRef.h"

namespace heddle::bench {

/// The contents of a file by its name; empty if there is none.
llvm::StringRef benchFile(llvm::StringRef name);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_BENCHFILES_H

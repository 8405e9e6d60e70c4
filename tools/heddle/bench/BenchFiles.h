//===- BenchFiles.h - files embedded in the tool ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written kernels and the shapes of models are embedded, so the
// benchmarks do not depend on the source tree.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_BENCHFILES_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_BENCHFILES_H

#include "llvm/ADT/StringRef.h"

namespace heddle::bench {

/// Returns the contents of an embedded file; empty if no file has this name.
llvm::StringRef benchFile(llvm::StringRef name);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_BENCHFILES_H

//===- Parallel.h - Independent work on several threads ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_PARALLEL_H
#define HEDDLE_RUNTIME_SUPPORT_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace heddle::runtime {

/// The number of threads that this process may use at a time: HEDDLE_THREADS,
/// or the number of cores; at most 1024.
unsigned threadLimit();

/// Calls `function` with 0 to `count` - 1, on at most threadLimit() threads.
/// Calls start in this order. The calling thread makes calls, too, so all calls
/// are made even if no thread can be created. If a call throws, no further
/// calls start; an exception is rethrown when no call is running any more.
void runInParallel(size_t count, llvm::function_ref<void(size_t)> function);

/// runInParallel() for many short calls, on at most `threads` threads, in
/// chunks of successive numbers.
void runManyInParallel(size_t count, unsigned threads,
                       llvm::function_ref<void(size_t)> function);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_PARALLEL_H

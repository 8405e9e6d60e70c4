//===- Parallel.cpp - Independent work on several threads -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Parallel.h"

#include "runtime/support/Environment.h"
#include "runtime/support/ThreadPool.h"

#include "llvm/Support/Threading.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

unsigned threadLimit() {
  constexpr unsigned most = 1024;
  if (std::optional<uint64_t> threads = kThreadsVariable.read())
    return std::min<uint64_t>(*threads, most);
  static const unsigned cores =
      std::clamp(hardware_concurrency().compute_thread_count(), 1u, most);
  return cores;
}

void runInParallel(size_t count, function_ref<void(size_t)> function) {
  ThreadPool::instance().run(count, /*chunk=*/1, threadLimit() - 1, function);
}

void runManyInParallel(size_t count, unsigned threads,
                       function_ref<void(size_t)> function) {
  // Several chunks for each thread, because calls and threads differ in speed.
  constexpr size_t chunksPerThread = 8;
  size_t chunk = std::max<size_t>(1, count / (threads * chunksPerThread));
  ThreadPool::instance().run(count, chunk, threads - 1, function);
}

} // namespace heddle::runtime

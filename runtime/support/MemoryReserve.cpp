//===- MemoryReserve.cpp - Memory for the end of a compilation ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new calls the new handler of the process when an allocation fails,
// and so does malloc() in libheddle.so (capi/ThrowingMalloc.cpp).
//
//===----------------------------------------------------------------------===//

#include "runtime/support/MemoryReserve.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// More than the whole compilation of most programs needs. The reserve is never
/// written, so it takes addresses but no memory.
constexpr size_t mostBytes = size_t(64) << 20;
constexpr size_t leastBytes = size_t(1) << 20;

std::mutex mutex;
unsigned users = 0; ///< guarded by `mutex`
std::new_handler previous = nullptr;
std::atomic<void *> reserve{nullptr};
std::atomic<bool> isUsed{false};

/// May run on any thread of the process.
void freeReserve() {
  if (void *memory = reserve.exchange(nullptr)) {
    isUsed = true;
    std::free(memory);
    return;
  }
  if (!previous)
    throw std::bad_alloc();
  previous();
}

} // namespace

MemoryReserve::MemoryReserve() {
  std::lock_guard<std::mutex> lock(mutex);
  if (users++)
    return;
  isUsed = false;
  for (size_t bytes = mostBytes; bytes >= leastBytes && !reserve; bytes /= 2)
    reserve = std::aligned_alloc(alignof(std::max_align_t), bytes);
  previous = std::set_new_handler(freeReserve);
}

MemoryReserve::~MemoryReserve() {
  std::lock_guard<std::mutex> lock(mutex);
  if (--users)
    return;
  // A handler that was set meanwhile stays.
  std::new_handler current = std::set_new_handler(previous);
  if (current != freeReserve)
    std::set_new_handler(current);
  std::free(reserve.exchange(nullptr));
}

Error MemoryReserve::check() {
  if (isUsed)
    return makeError(StatusCode::Failed, "out of memory");
  return Error::success();
}

} // namespace heddle::runtime

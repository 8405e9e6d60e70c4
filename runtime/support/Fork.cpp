//===- Fork.cpp - Threads, locks and CUDA objects after a fork ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Fork.h"

#include "runtime/support/ThreadPool.h"

#include <atomic>
#include <pthread.h>
#include <unistd.h>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// The number of forks between the first process and this one.
std::atomic<unsigned> generation{0};

/// Held shared by a ForkDelay, and exclusively during fork(). A waiting fork()
/// comes before new delays, or threads that compile in turns would hold it up
/// for ever.
constexpr pthread_rwlock_t newLock =
    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
pthread_rwlock_t delays = newLock;
/// The ForkDelays of this thread. Only the first one locks.
thread_local unsigned delaysHere = 0;

void beforeFork() {
  // A thread that forks inside of its own call must not wait for itself.
  if (delaysHere == 0)
    pthread_rwlock_wrlock(&delays);
  ThreadPool::instance().lockForFork();
}

void afterForkInParent() {
  ThreadPool::instance().unlockAfterFork();
  if (delaysHere == 0)
    pthread_rwlock_unlock(&delays);
}

void afterForkInChild() {
  generation.fetch_add(1, std::memory_order_relaxed);
  ThreadPool::instance().resetInChild();
  // The lock has the thread id of its owner, which fork() changes.
  delays = newLock;
}

[[maybe_unused]] const int registered =
    pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);

} // namespace

Creator::Creator()
    : generation(runtime::generation.load(std::memory_order_relaxed)),
      process(::getpid()) {}

bool Creator::isHere() const {
  return generation == runtime::generation.load(std::memory_order_relaxed);
}

Error Creator::check(StringRef what) const {
  if (isHere())
    return Error::success();
  return makeError(StatusCode::BadInput,
                   "{0}: expected a call from process {1}, which created it, "
                   "found process {2}: CUDA objects do not survive fork(). Use "
                   "it there, or create it after the fork",
                   what, process, ::getpid());
}

ForkDelay::ForkDelay()
    : generation(runtime::generation.load(std::memory_order_relaxed)) {
  if (delaysHere++ == 0)
    pthread_rwlock_rdlock(&delays);
}

ForkDelay::~ForkDelay() {
  // After a fork inside of this call, the child has a new lock.
  bool renewed =
      generation != runtime::generation.load(std::memory_order_relaxed);
  if (--delaysHere == 0 && !renewed)
    pthread_rwlock_unlock(&delays);
}

} // namespace heddle::runtime

//===- ThreadPool.h - The threads of this process ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads start when work first needs them, and then wait for more. They are
// POSIX threads: LLVM's end the process if a thread cannot be created, and the
// standard library's have no choice of the stack size. A child of fork() starts
// with an empty pool.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_THREADPOOL_H
#define HEDDLE_RUNTIME_SUPPORT_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <cstddef>
#include <exception>
#include <pthread.h>

namespace heddle::runtime {

class ThreadPool {
public:
  /// The pool of the process. It is never destroyed, and its threads end with
  /// the process: between jobs they wait.
  static ThreadPool &instance();

  /// Calls `function` with 0 to `count` - 1, `chunk` successive numbers at a
  /// time, on the calling thread and at most `helpers` threads of the pool.
  /// Chunks start in order. If a call throws, no further chunks start, and an
  /// exception is rethrown after all running calls have ended.
  void run(size_t count, size_t chunk, unsigned helpers,
           llvm::function_ref<void(size_t)> function);

  // fork() (Fork.cpp).
  void lockForFork() { pthread_mutex_lock(&mutex); }
  void unlockAfterFork() { pthread_mutex_unlock(&mutex); }
  void resetInChild();

private:
  /// The work of one run().
  struct Job {
    llvm::function_ref<void(size_t)> function;
    size_t count, chunk;
    unsigned limit; ///< the largest number of helpers
    std::atomic<size_t> next{0};
    // Guarded by the mutex of the pool.
    unsigned helpers = 0;    ///< threads of the pool that work on it
    unsigned freePlaces = 0; ///< threads of the pool that may still join
    std::exception_ptr failure;
    Job *following = nullptr; ///< in the list of jobs with free places

    bool hasWork() const {
      return next.load(std::memory_order_relaxed) < count;
    }
    /// Makes calls until none is left. Returns the exception of a call.
    std::exception_ptr work() noexcept;
  };

  ThreadPool() = default;

  void add(Job &job);
  void remove(Job &job);
  /// Wakes or starts a thread if there is work for one.
  void wakeOrStart(const Job &job);
  bool start();
  void runThread();
  static void *threadMain(void *pool);

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
  pthread_cond_t done = PTHREAD_COND_INITIALIZER; ///< a helper has left a job
  Job *first = nullptr;                           ///< jobs with free places
  unsigned threads = 0;
  unsigned idle = 0;  ///< threads without a job
  unsigned woken = 0; ///< of those, threads that have been woken
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_THREADPOOL_H

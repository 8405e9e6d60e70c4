//===- ThreadPool.cpp - The threads of this process -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/ThreadPool.h"

#include "runtime/support/Cancellation.h"
#include "runtime/support/FloatingPoint.h"

#include <algorithm>
#include <csignal>
#include <new>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// Compilers recurse deeply, and the default stack of a thread may be smaller
/// than the stack of the main thread.
constexpr size_t stackBytes = size_t(16) << 20;

class Lock {
public:
  explicit Lock(pthread_mutex_t &mutex) : mutex(mutex) {
    pthread_mutex_lock(&mutex);
  }
  ~Lock() { pthread_mutex_unlock(&mutex); }

private:
  pthread_mutex_t &mutex;
};

/// Blocks signals while a thread is created, so that the threads of the caller
/// run the handlers. A new thread receives only faults and SIGPROF.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

} // namespace

ThreadPool &ThreadPool::instance() {
  alignas(ThreadPool) static char storage[sizeof(ThreadPool)];
  static ThreadPool *pool = new (storage) ThreadPool;
  return *pool;
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

std::exception_ptr ThreadPool::Job::work() noexcept {
  try {
    for (size_t begin; (begin = next.fetch_add(chunk)) < count;)
      for (size_t end = std::min(count, begin + chunk); begin < end; ++begin)
        function(begin);
  } catch (...) {
    next = count;
    return std::current_exception();
  }
  return nullptr;
}

void ThreadPool::add(Job &job) {
  Job **end = &first;
  while (*end)
    end = &(*end)->following;
  *end = &job;
}

void ThreadPool::remove(Job &job) {
  for (Job **link = &first; *link; link = &(*link)->following)
    if (*link == &job) {
      *link = job.following;
      return;
    }
}

void ThreadPool::run(size_t count, size_t chunk, unsigned helpers,
                     function_ref<void(size_t)> function) {
  // A thread for each further chunk is enough.
  helpers = count ? std::min<size_t>(helpers, (count - 1) / chunk) : 0;
  if (helpers == 0) {
    for (size_t index = 0; index < count; ++index)
      function(index);
    return;
  }
  Job job{function, count, chunk, helpers};
  job.freePlaces = helpers;
  {
    Lock lock(mutex);
    add(job);
    wakeOrStart(job);
  }
  std::exception_ptr failure = job.work();
  {
    Lock lock(mutex);
    remove(job);
    CancellationDisabled waiting; // the helpers use this stack
    while (job.helpers)
      pthread_cond_wait(&done, &mutex);
    if (!failure)
      failure = std::move(job.failure);
  }
  if (failure)
    std::rethrow_exception(failure);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Each thread that joins a job wakes or starts the next, so the caller pays
/// for one wake-up only.
void ThreadPool::wakeOrStart(const Job &job) {
  if (job.freePlaces == 0 || !job.hasWork())
    return;
  if (idle > woken) {
    ++woken;
    pthread_cond_signal(&wake);
  } else if (threads < job.limit) {
    start();
  }
}

/// Returns false if there is no thread to be had. Fewer threads then do the
/// work.
bool ThreadPool::start() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setstacksize(&attributes, stackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  SignalsBlocked blocked;
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, threadMain, this) == 0;
  pthread_attr_destroy(&attributes);
  if (started)
    ++threads;
  return started;
}

void *ThreadPool::threadMain(void *pool) {
  DefaultFloatingPoint floatingPoint; // a new thread has that of its creator
  static_cast<ThreadPool *>(pool)->runThread();
  return nullptr;
}

void ThreadPool::runThread() {
  Lock lock(mutex);
  while (true) {
    Job *job = first;
    while (job && !job->hasWork())
      job = job->following;
    if (!job) {
      ++idle;
      while (!woken)
        pthread_cond_wait(&wake, &mutex);
      --woken;
      --idle;
      continue;
    }
    ++job->helpers;
    if (--job->freePlaces == 0)
      remove(*job);
    wakeOrStart(*job);
    pthread_mutex_unlock(&mutex);
    std::exception_ptr failure = job->work();
    pthread_mutex_lock(&mutex);
    if (failure)
      job->failure = std::move(failure);
    if (--job->helpers == 0)
      pthread_cond_broadcast(&done);
  }
}

void ThreadPool::resetInChild() {
  mutex = PTHREAD_MUTEX_INITIALIZER;
  wake = PTHREAD_COND_INITIALIZER;
  done = PTHREAD_COND_INITIALIZER;
  first = nullptr;
  threads = 0;
  idle = woken = 0;
}

} // namespace heddle::runtime

//===- Parallel.cpp - Independent work on several threads -----------------===//
//
// Uses POSIX threads, so that work continues if a thread cannot be created.
// LLVM's and the standard library's threads end the process in that case.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Parallel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Threading.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <pthread.h>

using namespace llvm;

namespace heddle::runtime {

namespace {
/// Compilers recurse deeply, and the default stack of a thread may be smaller
/// than the stack of the main thread.
constexpr size_t stackBytes = size_t(16) << 20;

struct Work {
  function_ref<void(size_t)> function;
  size_t count;
  std::atomic<size_t> next{0};

  void run() {
    for (size_t index; (index = next.fetch_add(1)) < count;)
      function(index);
  }
};

void *runWork(void *work) {
  static_cast<Work *>(work)->run();
  return nullptr;
}
} // namespace

unsigned threadLimit() {
  unsigned threads = 0;
  if (const char *text = std::getenv("HEDDLE_THREADS"))
    if (!StringRef(text).getAsInteger(10, threads) && threads > 0)
      return threads;
  return std::max(1u, hardware_concurrency().compute_thread_count());
}

void runInParallel(size_t count, function_ref<void(size_t)> function) {
  Work work{function, count};
  SmallVector<pthread_t> threads;
  pthread_attr_t attributes;
  size_t wanted = std::min<size_t>(count, threadLimit());
  if (wanted > 1 && pthread_attr_init(&attributes) == 0) {
    pthread_attr_setstacksize(&attributes, stackBytes);
    for (pthread_t thread; threads.size() + 1 < wanted;) {
      if (pthread_create(&thread, &attributes, runWork, &work) != 0)
        break;
      threads.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }
  work.run();
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

} // namespace heddle::runtime

//===- ExitOrder.cpp - The library works until the process ends -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler of atexit() may use the library. exit() destroys the thread-local
// variables of its thread before it calls any handler, and static variables
// that were created after the handler was registered before that handler.
//
// So in libheddle.so the linker replaces calls of the functions that register
// such destructors, in heddle, LLVM and MLIR, by calls of these. Static
// variables are never destroyed: the library stays loaded (-z nodelete).
// Thread-local variables are destroyed when their thread ends, but not by
// exit().
//
//===----------------------------------------------------------------------===//

#include <cstdlib>
#include <pthread.h>

namespace {

/// The destructors of a thread, the last one first.
struct Destructor {
  void (*destroy)(void *);
  void *object;
  Destructor *next;
};

/// Called at the end of a thread, and not by exit().
void destroyAll(void *first) {
  for (auto *each = static_cast<Destructor *>(first); each;) {
    Destructor *next = each->next;
    each->destroy(each->object);
    std::free(each);
    each = next;
  }
}

} // namespace

extern "C" {

void *__real_malloc(size_t bytes); // see ThrowingMalloc.cpp

int __wrap___cxa_atexit(void (*)(void *), void *, void *) { return 0; }

int __wrap___cxa_thread_atexit(void (*destroy)(void *), void *object, void *) {
  struct Key {
    pthread_key_t key;
    bool exists = pthread_key_create(&key, destroyAll) == 0;
  };
  static const Key list{};
  // Without memory for the entry, the variable is never destroyed.
  void *memory = list.exists ? __real_malloc(sizeof(Destructor)) : nullptr;
  if (!memory)
    return -1;
  auto *entry = static_cast<Destructor *>(memory);
  auto *first = static_cast<Destructor *>(pthread_getspecific(list.key));
  *entry = {destroy, object, first};
  if (pthread_setspecific(list.key, entry) == 0)
    return 0;
  std::free(entry);
  return -1;
}

} // extern "C"

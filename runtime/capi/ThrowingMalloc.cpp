//===- ThrowingMalloc.cpp - malloc for LLVM and MLIR ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR does not check the result of malloc(). In libheddle.so the linker
// replaces calls of malloc, calloc and realloc by calls of these functions.
// They fail as operator new does: they call the new handler, and throw if there
// is none. Code that is compiled with exceptions must not call them, because
// the headers of C declare that they do not throw.
//
// The C++ runtime also allocates the memory of exceptions by malloc(), and has
// memory of its own if that fails. Where it is linked statically (the Python
// wheel), its calls are replaced, too, so they must then return null.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <new>

/// Whether this thread allocates the memory of an exception.
static thread_local bool allocatesException = false;

template <typename Allocate> static void *allocate(Allocate tryOnce) {
  while (true) {
    void *memory = tryOnce();
    if (memory || allocatesException)
      return memory;
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
  }
}

extern "C" {

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t bytes);

#ifdef HEDDLE_STATIC_CXX_RUNTIME
void *__real___cxa_allocate_exception(size_t bytes) noexcept;
void *__real___cxa_allocate_dependent_exception() noexcept;

void *__wrap___cxa_allocate_exception(size_t bytes) noexcept {
  allocatesException = true;
  void *memory = __real___cxa_allocate_exception(bytes);
  allocatesException = false;
  return memory;
}

void *__wrap___cxa_allocate_dependent_exception() noexcept {
  allocatesException = true;
  void *memory = __real___cxa_allocate_dependent_exception();
  allocatesException = false;
  return memory;
}
#endif

void *__wrap_malloc(size_t bytes) {
  return allocate([=] { return __real_malloc(bytes ? bytes : 1); });
}

void *__wrap_calloc(size_t count, size_t size) {
  return allocate(
      [=] { return __real_calloc(count ? count : 1, size ? size : 1); });
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return allocate([=] { return __real_realloc(memory, bytes ? bytes : 1); });
}

} // extern "C"

//===- ErrorApi.cpp - Nothing but a status leaves the C interface ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime is compiled with exceptions, so its destructors run. LLVM, MLIR
// and heddle's compiler are compiled without: an exception passes their frames
// and runs no destructors there. So a compilation that an exception ends is
// abandoned, and its memory is lost.
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"
#include "runtime/support/Cancellation.h"
#include "runtime/support/FloatingPoint.h"
#include "runtime/support/Json.h"
#include "runtime/support/Text.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <pthread.h>

using namespace llvm;
using namespace heddle::runtime;

//===----------------------------------------------------------------------===//
// The last error of a thread
//===----------------------------------------------------------------------===//

namespace {

/// Pointers, because a thread_local with a destructor needs memory when a
/// thread first uses it.
thread_local const char *lastError = "";
thread_local char *lastErrorCopy = nullptr;

/// Makes `copy` the message of this thread, and frees it when the thread ends.
void ownCopy(char *copy) {
  struct Key {
    pthread_key_t key;
    bool exists = pthread_key_create(&key, std::free) == 0;
  };
  static const Key owner{};
  std::free(std::exchange(lastErrorCopy, copy));
  if (owner.exists)
    pthread_setspecific(owner.key, copy);
}

heddle_status failWithoutMemory() {
  lastError = "out of memory";
  return HEDDLE_FAILED;
}

heddle_status fail(StringRef text) {
  char *copy = copyText(text);
  if (!copy)
    return failWithoutMemory();
  ownCopy(copy);
  lastError = copy;
  return HEDDLE_FAILED;
}

heddle_status report(Error error) {
  if (!error)
    return HEDDLE_OK;
  auto [code, text] = takeError(std::move(error));
  // A log of NVRTC stays whole.
  if (code == StatusCode::BadInput)
    text = shortMessage(text);
  // Names come from callers and files; callers may expect UTF-8.
  fail(printable(utf8Text(text)));
  return static_cast<heddle_status>(code);
}

} // namespace

//===----------------------------------------------------------------------===//
// Exceptions
//===----------------------------------------------------------------------===//

namespace {

/// A fatal error of LLVM. Copying it allocates nothing.
struct FatalError : std::exception {
  char text[512] = "internal error: ";

  explicit FatalError(const char *reason) {
    std::strncat(text, reason, sizeof(text) - std::strlen(text) - 1);
  }
  const char *what() const noexcept override { return text; }
};

void throwBadAlloc(void *, const char *, bool) { throw std::bad_alloc(); }
void throwFatalError(void *, const char *reason, bool) {
  throw FatalError(reason);
}

void installHandlers() {
  static const bool installed = [] {
    install_bad_alloc_error_handler(throwBadAlloc);
    install_fatal_error_handler(throwFatalError);
    return true;
  }();
  (void)installed;
}

} // namespace

namespace heddle::runtime {

heddle_status callGuarded(function_ref<Error()> body) {
  installHandlers();
  DefaultFloatingPoint floatingPoint;
  try {
    return report(body());
  } catch (const abi::__forced_unwind &) {
    throw; // pthread_cancel() ends the thread
  } catch (const std::bad_alloc &) {
    return failWithoutMemory();
  } catch (const std::exception &exception) {
    return fail(exception.what());
  } catch (...) {
    return fail("internal error: an unknown exception");
  }
}

heddle_status callCompiler(function_ref<Error()> body) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Expected<Compiler *> compiler = Compiler::get(); !compiler)
      return compiler.takeError();
    Compiler::Use use;
    return body();
  });
}

void freeGuarded(function_ref<void()> body) {
  CancellationDisabled scope;
  installHandlers();
  try {
    body();
  } catch (...) {
    // A function that frees a handle returns no status.
  }
}

char *copyText(StringRef text) {
  // Not malloc(), which throws here (ThrowingMalloc.cpp).
  constexpr size_t alignment = alignof(std::max_align_t);
  char *copy = static_cast<char *>(
      std::aligned_alloc(alignment, alignTo(text.size() + 1, alignment)));
  if (copy) {
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
  }
  return copy;
}

} // namespace heddle::runtime

extern "C" const char *heddle_last_error(void) { return lastError; }

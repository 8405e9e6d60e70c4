//===- Guard.cpp - every failure of the tool is an error and a code -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library guards its C interface (runtime/capi/ErrorApi.cpp). The tool has
// its own copy of LLVM's support library, and allocates memory itself. Messages
// are written without an allocation.
//
//===----------------------------------------------------------------------===//

#include "Guard.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <unistd.h>

using namespace llvm;

namespace heddle::cli {

static void write(const char *text) {
  size_t size = std::strlen(text);
  while (size > 0) {
    ssize_t count = ::write(STDERR_FILENO, text, size);
    if (count <= 0)
      return;
    text += count;
    size -= count;
  }
}

static void report(const char *kind, const char *reason) {
  write("heddle: error: ");
  write(kind);
  write(reason);
  write("\n");
  sys::RunInterruptHandlers(); // removes temporary files
}

/// Reports the exception that is being handled.
static void reportException() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    report("out of memory", "");
  } catch (const std::exception &exception) {
    report("internal error: ", exception.what());
  } catch (...) {
    report("internal error: ", "an unknown exception");
  }
}

int runGuarded(function_ref<int()> body) {
  install_bad_alloc_error_handler(
      [](void *, const char *, bool) { throw std::bad_alloc(); });
  // A destructor can have a fatal error, and must not throw.
  install_fatal_error_handler([](void *, const char *reason, bool) {
    report("internal error: ", reason);
    _exit(1);
  });
  // An exception that a destructor throws, or that a thread does not catch.
  std::set_terminate([] {
    if (std::current_exception())
      reportException();
    else
      report("internal error: ", "an unknown exception");
    _exit(1);
  });
  try {
    return body();
  } catch (...) {
    reportException();
    return 1;
  }
}

} // namespace heddle::cli

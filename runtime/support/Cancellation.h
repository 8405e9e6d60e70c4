//===- Cancellation.h - Threads that must not be cancelled ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_CANCELLATION_H
#define HEDDLE_RUNTIME_SUPPORT_CANCELLATION_H

#include <pthread.h>

namespace heddle::runtime {

/// Delays pthread_cancel() of this thread. Cancellation unwinds the stack, but
/// LLVM's functions would not release their locks and memory.
class CancellationDisabled {
public:
  CancellationDisabled() {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  }
  ~CancellationDisabled() { pthread_setcancelstate(before, nullptr); }
  CancellationDisabled(const CancellationDisabled &) = delete;
  CancellationDisabled &operator=(const CancellationDisabled &) = delete;

private:
  int before = PTHREAD_CANCEL_ENABLE;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_CANCELLATION_H

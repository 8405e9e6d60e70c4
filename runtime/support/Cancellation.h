//===- Cancellation.h - Threads that must not be cancelled ------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_SUPPORT_CANCELLATION_H
#define HEDDLE_RUNTIME_SUPPORT_CANCELLATION_H

#include <pthread.h>

namespace heddle::runtime {

/// Makes pthread_cancel() of this thread wait. Cancelling unwinds the stack; it
/// would leave locks and memory of LLVM behind.
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

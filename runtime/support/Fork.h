//===- Fork.h - Threads, locks and CUDA objects after a fork --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child of fork() has the memory of its parent but only the forking thread.
// So it creates threads of its own. A lock that another thread held at the fork
// would never be released in the child. CUDA objects of the parent do not work.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_FORK_H
#define HEDDLE_RUNTIME_SUPPORT_FORK_H

#include "runtime/support/Cancellation.h"
#include "runtime/support/Status.h"

namespace heddle::runtime {

/// The process that created an object.
class Creator {
public:
  /// This process.
  Creator();

  /// Whether this process is the creator.
  bool isHere() const;
  /// BadInput unless this process is the creator. `what` names the call or the
  /// object.
  llvm::Error check(llvm::StringRef what) const;

private:
  unsigned generation;
  int process;
};

/// Delays fork() in other threads while this object lives, so that no child
/// inherits a half-finished compilation with its locks. Delays the cancellation
/// of this thread, too. Calls that may take global locks have one: those that
/// compile, load or prepare.
class ForkDelay {
public:
  ForkDelay();
  ~ForkDelay();
  ForkDelay(const ForkDelay &) = delete;
  ForkDelay &operator=(const ForkDelay &) = delete;

private:
  CancellationDisabled cancellation;
  unsigned generation;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_FORK_H

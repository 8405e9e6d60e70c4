//===- Fork.h - What a forked process inherits ----------------------------===//
//
// A child of fork() has the memory of its parent but only the forking thread.
// So a child creates threads of its own, a lock that another thread held at the
// fork would never be released, and CUDA does not work with objects of the
// parent.
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

/// Makes fork() in other threads wait while this object lives, so that no child
/// inherits a half-finished compilation with its locks. Cancellation of this
/// thread waits, too. For calls that may take global locks: those that compile,
/// load or prepare.
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

//===- MemoryReserve.h - Memory for the end of a compilation --------------===//
//
// LLVM and MLIR are compiled without exceptions. An exception that passes their
// frames runs no destructors: it may leave locks and global tables half-way. So
// a compilation must not run out of memory in the middle. It starts with a
// reserve. When an allocation fails, the reserve is freed, the allocation is
// tried again, and the compilation ends with an error at its next check().
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_MEMORYRESERVE_H
#define HEDDLE_RUNTIME_SUPPORT_MEMORYRESERVE_H

#include "runtime/support/Status.h"

namespace heddle::runtime {

/// Keeps the reserve of this process while it lives. Compilations on several
/// threads share one.
class MemoryReserve {
public:
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve &) = delete;
  MemoryReserve &operator=(const MemoryReserve &) = delete;

  /// Failed once the reserve has been used.
  static llvm::Error check();
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_MEMORYRESERVE_H

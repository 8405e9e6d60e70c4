//===- MemoryReserve.h - Memory for the end of a compilation --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM and MLIR are compiled without exceptions. An exception that passes their
// frames runs no destructors: locks may stay locked, and global tables may be
// incomplete. So a compilation must not run out of memory in the middle. It
// starts with a reserve. When an allocation fails, the reserve is freed, the
// allocation is tried again, and the compilation ends with an error at its next
// check().
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_MEMORYRESERVE_H
#define HEDDLE_RUNTIME_SUPPORT_MEMORYRESERVE_H

#include "runtime/support/Status.h"

namespace heddle::runtime {

/// The process has a reserve while an object of this class lives. Compilations
/// on several threads share it.
class MemoryReserve {
public:
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve &) = delete;
  MemoryReserve &operator=(const MemoryReserve &) = delete;

  /// An error if the reserve has been used.
  static llvm::Error check();
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_MEMORYRESERVE_H

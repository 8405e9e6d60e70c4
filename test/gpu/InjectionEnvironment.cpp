//===- InjectionEnvironment.cpp - The GPU of the injection tests ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"
#include "test/unit/boundary/Environment.h"

namespace heddle::test {

/// Bytes of device 0, for all processes.
size_t deviceMemory() {
  const CudaDriver *driver = CudaDriver::get();
  size_t available = 0, total = 0;
  if (!driver || driver->cuMemGetInfo(&available, &total) != CUDA_SUCCESS)
    return 0;
  return total - available;
}

/// The driver allocates for itself, too. A leak of each refused request needs
/// more.
const size_t deviceMemoryTolerance = size_t(32) << 20;

} // namespace heddle::test

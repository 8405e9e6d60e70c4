//===- StandInEnvironment.cpp - The driver of these tests -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <cstdlib>
#include <dlfcn.h>

namespace heddle::test {

[[maybe_unused]] static const int driverNamed =
    setenv("HEDDLE_CUDA_DRIVER", HEDDLE_STAND_IN_DRIVER, 1);

void *standInFunction(const char *name) {
  static void *const driver =
      dlopen(HEDDLE_STAND_IN_DRIVER, RTLD_NOW | RTLD_LOCAL);
  return driver ? dlsym(driver, name) : nullptr;
}

size_t deviceMemory() { return HEDDLE_STAND_IN(heddle_stand_in_allocations)(); }
const size_t deviceMemoryTolerance = 0;

} // namespace heddle::test

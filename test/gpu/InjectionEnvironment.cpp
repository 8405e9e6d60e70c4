//===- InjectionEnvironment.cpp - The GPU of the injection tests ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"
#include "test/unit/boundary/Environment.h"

#include <cstdlib>
#include <filesystem>

namespace heddle::test {

/// The driver behind libheddle_faulty_driver.so: the one that
/// HEDDLE_CUDA_DRIVER names, or that of the GPU.
[[maybe_unused]] static const bool driverNamed = [] {
  if (const char *named = std::getenv("HEDDLE_CUDA_DRIVER"))
    setenv("HEDDLE_FAULTY_DRIVER_OF", named, 1);
  std::error_code ignored;
  auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored)
                    .parent_path()
                    .parent_path();
  std::string library = folder / "lib" / "libheddle_faulty_driver.so";
  return setenv("HEDDLE_CUDA_DRIVER", library.c_str(), 1) == 0;
}();

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

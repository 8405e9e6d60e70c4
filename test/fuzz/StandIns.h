//===- StandIns.h - A driver and an NVRTC without a GPU ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the stand-ins of test/unit/runtime and test/fuzz before the runtime
// loads its libraries. Every source compiles, and every kernel exists and does
// nothing. They are in the folder lib next to the folder of the program, so
// that a copy of both folders works elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_STANDINS_H
#define HEDDLE_TEST_FUZZ_STANDINS_H

#include <cstdlib>
#include <filesystem>

namespace heddle::fuzz {

inline void useStandIns() {
  std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  std::filesystem::path lib = program.parent_path().parent_path() / "lib";
  setenv("HEDDLE_CUDA_DRIVER", (lib / HEDDLE_STAND_IN_DRIVER).c_str(),
         /*overwrite=*/1);
  setenv("HEDDLE_NVRTC", (lib / HEDDLE_STAND_IN_NVRTC).c_str(), 1);
  setenv("HEDDLE_STAND_IN_KERNELS", "any", 1);
  setenv("HEDDLE_STAND_IN_MEMORY", "16777216", 1);
  setenv("HEDDLE_CACHE_SIZE", "0", 1);
  unsetenv("HEDDLE_DUMP_DIR");
}

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_STANDINS_H

//===- StandIns.h - A driver and an NVRTC without a GPU ---------*- C++ -*-===//
//
// Selects the stand-ins of test/unit/runtime and test/fuzz before the runtime
// loads its libraries. Every source compiles, and every kernel exists and does
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_STANDINS_H
#define HEDDLE_TEST_FUZZ_STANDINS_H

#include <cstdlib>

namespace heddle::fuzz {

inline void useStandIns() {
  setenv("HEDDLE_CUDA_DRIVER", HEDDLE_STAND_IN_DRIVER, /*overwrite=*/1);
  setenv("HEDDLE_NVRTC", HEDDLE_STAND_IN_NVRTC, 1);
  setenv("HEDDLE_STAND_IN_KERNELS", "any", 1);
  setenv("HEDDLE_CACHE_SIZE", "0", 1);
  unsetenv("HEDDLE_DUMP_DIR");
}

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_STANDINS_H

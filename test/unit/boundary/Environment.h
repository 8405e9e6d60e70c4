//===- Environment.h - The driver and the cache of these tests ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Static variables set the environment before the library reads it: an empty
// cache folder, which is removed at the end of the process, four threads, and
// (StandInEnvironment.cpp) the stand-in driver. test/gpu runs some of the tests
// with a GPU's driver.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_BOUNDARY_ENVIRONMENT_H
#define HEDDLE_TEST_UNIT_BOUNDARY_ENVIRONMENT_H

#include "Sequences.h"
#include "test/unit/runtime/StandInDriver.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace heddle::test {

/// Names of the files in the cache folder.
std::vector<std::string> cacheFiles();
void clearCache();

/// A function of the stand-in driver.
void *standInFunction(const char *name);
#define HEDDLE_STAND_IN(name)                                                  \
  reinterpret_cast<decltype(&name)>(heddle::test::standInFunction(#name))

/// The memory in use on the device: its bytes, or the allocations of the
/// stand-in driver. It may grow by the tolerance without a leak.
size_t deviceMemory();
extern const size_t deviceMemoryTolerance;

/// Executables of the sequences, compiled once. Null if they do not compile;
/// those for cuda need NVRTC.
struct Executables {
  static heddle_executable *elementwise();
  static heddle_executable *loop();
  static heddle_executable *cuda();
  static heddle_executable *cudaSum();
  static heddle_executable *cudaDistances();
};

/// Runs `body` in a child of fork(). Returns the result of `body`, or the
/// negative number of the signal that ended the child: SIGALRM after 60
/// seconds.
int runInChild(const std::function<int()> &body);

/// Runs this test program in another process. Returns its output, or an empty
/// text if it fails.
std::string runProgram(const std::vector<std::string> &arguments);
/// The main function of the test program with "--first-compilation NTH".
int compileFirst(long nth);

inline testing::AssertionResult succeeded(const Outcome &outcome) {
  if (outcome.succeeded())
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << outcome.call << ": status " << outcome.status << ": "
         << outcome.error << (outcome.wrongResult ? " (wrong result)" : "");
}

/// Skips a test of the cuda target on a machine without NVRTC.
#define HEDDLE_NEED_CUDA_EXECUTABLE()                                          \
  if (!heddle::test::Executables::cuda() ||                                    \
      !heddle::test::Executables::cudaSum())                                   \
  GTEST_SKIP() << heddle_last_error()

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_BOUNDARY_ENVIRONMENT_H

//===- DriverFaultTests.cpp - A driver that fails or returns nonsense -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

using namespace heddle::test;

namespace {

class DriverFaultTest
    : public testing::TestWithParam<heddle_stand_in_behavior> {};

/// Runs the sequence once for each of its calls of the driver. This call
/// behaves as the parameter says.
TEST_P(DriverFaultTest, EachCall) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  auto setFault = HEDDLE_STAND_IN(heddle_stand_in_fault);
  auto calls = HEDDLE_STAND_IN(heddle_stand_in_calls);
  auto allocations = HEDDLE_STAND_IN(heddle_stand_in_allocations);
  ASSERT_TRUE(succeeded(runOnCuda(Executables::cuda())));
  setFault(HEDDLE_STAND_IN_COUNTS, 0);
  ASSERT_TRUE(succeeded(runOnCuda(Executables::cuda())));
  long total = calls();
  ASSERT_GT(total, 20);
  int failures = 0;
  for (long nth = 1; nth <= total; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    size_t before = allocations();
    setFault(GetParam(), nth);
    Outcome outcome = runOnCuda(Executables::cuda());
    setFault(HEDDLE_STAND_IN_WORKS, 0);
    if (outcome.status != HEDDLE_OK) {
      ++failures;
      EXPECT_STRNE(outcome.error, "");
    }
    // If the call frees an allocation, that allocation remains.
    if (GetParam() == HEDDLE_STAND_IN_FAILS)
      EXPECT_LE(allocations(), before + 1);
    ASSERT_TRUE(succeeded(runOnCuda(Executables::cuda())));
  }
  std::printf("%ld calls, %d failures\n", total, failures);
}

std::string
nameOf(const testing::TestParamInfo<heddle_stand_in_behavior> &info) {
  static const char *const names[] = {"Works", "Counts", "Fails",
                                      "Zero",  "Huge",   "Negative"};
  return names[info.param];
}

INSTANTIATE_TEST_SUITE_P(Driver, DriverFaultTest,
                         testing::Values(HEDDLE_STAND_IN_FAILS,
                                         HEDDLE_STAND_IN_ZERO,
                                         HEDDLE_STAND_IN_HUGE,
                                         HEDDLE_STAND_IN_NEGATIVE),
                         nameOf);

} // namespace

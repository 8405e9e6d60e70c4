//===- InjectionHarness.cpp - Runs a sequence for each refused request ----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InjectionHarness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace heddle;
using namespace heddle::test;

std::vector<long> test::requestsToRefuse(long total, long most) {
  long first = 1, stride = std::max(1l, total / most);
  if (const char *text = std::getenv("HEDDLE_INJECTION")) {
    stride = 1;
    std::sscanf(text, "%ld/%ld", &first, &stride);
  }
  std::vector<long> numbers;
  for (long number = first; number <= total; number += stride)
    numbers.push_back(number);
  return numbers;
}

void test::expectHolds(const Sequence &sequence, Injected injected) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own allocator";
  // Twice, because memory that the library keeps from a first call is no leak.
  ASSERT_TRUE(succeeded(sequence()));
  ASSERT_TRUE(succeeded(sequence()));
  injected.before();
  arm(injected.resource, 0);
  ASSERT_TRUE(succeeded(sequence()));
  long total = disarm();
  ASSERT_GT(total, 0);
  size_t onDevice = deviceMemory();
  long failures = 0, tested = 0;
  size_t leaked = 0, worst = 0;
  for (long nth : requestsToRefuse(total, injected.most)) {
    Outcome outcome;
    size_t lost = 0, allowed = 0;
    // A table of LLVM may grow once and keep its memory; a leak occurs again.
    for (int attempt = 0; attempt < 2 && (attempt == 0 || lost > allowed);
         ++attempt) {
      injected.before();
      Live before = liveAllocations();
      arm(injected.resource, nth, injected.all);
      outcome = sequence();
      disarm();
      Live after = liveAllocations();
      lost = after.bytes > before.bytes ? after.bytes - before.bytes : 0;
      // The message of the last error stays, rounded up.
      allowed = injected.leak + std::strlen(heddle_last_error()) + 16;
    }
    ++tested;
    SCOPED_TRACE("request " + std::to_string(nth) + " of " +
                 std::to_string(total));
    if (outcome.status != HEDDLE_OK) {
      ++failures;
      EXPECT_EQ(outcome.status, HEDDLE_FAILED) << outcome.error;
      EXPECT_STRNE(outcome.error, "");
    }
    EXPECT_FALSE(outcome.wrongResult);
    leaked += lost;
    worst = std::max(worst, lost);
    EXPECT_LE(lost, allowed);
    ASSERT_TRUE(succeeded(sequence()));
    if (testing::Test::HasFailure())
      break;
  }
  EXPECT_LE(deviceMemory(), onDevice + deviceMemoryTolerance);
  std::printf("%ld requests, %ld refused, %ld failures, %zu bytes lost on "
              "average, %zu at most\n",
              total, tested, failures, leaked / std::max(1l, tested), worst);
}

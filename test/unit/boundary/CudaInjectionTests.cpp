//===- CudaInjectionTests.cpp - The n-th request on the cuda target fails ===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InjectionHarness.h"

using namespace heddle::test;

namespace {

Outcome runCuda() {
  return runOnCuda(Executables::cuda(), Executables::cudaSum());
}

TEST(InjectionTest, MemoryOfACudaGraph) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  expectHolds(runCuda, {Resource::Memory, false, 2000});
}
TEST(InjectionTest, AllMemoryOfACudaGraph) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  expectHolds(runCuda, {Resource::Memory, true, 2000});
}
// LLVM's functions run no destructors after an exception: a formatted text or,
// without the reserve, a JSON value is lost.
TEST(InjectionTest, MemoryOfAPlan) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  expectHolds(loadPlan, {Resource::Memory, false, 500, 1024});
}
TEST(InjectionTest, AllMemoryOfAPlan) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  expectHolds(loadPlan, {Resource::Memory, true, 500, 1 << 20});
}

/// The disk is full for the n-th write, or from the n-th write on.
TEST(InjectionTest, WritesOfTheCache) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own write()";
  HEDDLE_NEED_CUDA_EXECUTABLE();
  clearCache();
  arm(Resource::Write, 0);
  ASSERT_TRUE(succeeded(loadPlan()));
  long total = disarm();
  ASSERT_GT(total, 4);
  size_t entries = cacheFiles().size();
  ASSERT_GT(entries, 0u);
  for (bool all : {false, true})
    for (long nth : requestsToRefuse(total, 5)) {
      SCOPED_TRACE("write " + std::to_string(nth));
      clearCache();
      arm(Resource::Write, nth, all);
      Outcome outcome = loadPlan();
      disarm();
      EXPECT_TRUE(succeeded(outcome)); // a cache is not necessary
      for (const std::string &name : cacheFiles())
        EXPECT_EQ(name.size(), 64u) << name; // no temporary file
      ASSERT_TRUE(succeeded(loadPlan()));
      EXPECT_EQ(cacheFiles().size(), entries);
    }
}

} // namespace

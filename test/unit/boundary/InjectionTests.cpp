//===- InjectionTests.cpp - The n-th request on the cpu target fails ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InjectionHarness.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace heddle::test;

namespace {

Outcome runCpu() {
  return runOnCpu(Executables::elementwise(), Executables::loop());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(InjectionTest, MemoryOfTheCpuTarget) {
  expectHolds(runCpu, {Resource::Memory, false, 2000});
}
TEST(InjectionTest, AllMemoryOfTheCpuTarget) {
  expectHolds(runCpu, {Resource::Memory, true, 2000});
}
TEST(InjectionTest, MemoryOfACompilation) {
  expectHolds(compileForCpu, {Resource::Memory, false, 100});
}
TEST(InjectionTest, MemoryOfAnInspection) {
  expectHolds(inspectProgram, {Resource::Memory, false, 100});
}

/// All allocations from the n-th on fail, so the reserve of a compilation does
/// not suffice. Then the compiler may refuse further programs, but graphs still
/// run.
TEST(InjectionTest, AllMemoryOfACompilation) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own allocator";
  ASSERT_TRUE(succeeded(runCpu()));
  ASSERT_TRUE(succeeded(compileForCpu()));
  arm(Resource::Memory, 0);
  ASSERT_TRUE(succeeded(compileForCpu()));
  long total = disarm();
  for (long nth : requestsToRefuse(total, 100))
    ASSERT_EQ(runInChild([&] {
                arm(Resource::Memory, nth, true);
                heddle_status status = compileForCpu().status;
                disarm();
                if (status != HEDDLE_OK && status != HEDDLE_FAILED)
                  return 1;
                status = compileForCpu().status;
                if (status != HEDDLE_OK && status != HEDDLE_UNAVAILABLE)
                  return 2;
                return runCpu().succeeded() ? 0 : 3;
              }),
              0)
        << "request " << nth << " of " << total;
}

/// Compiles, and frees the machine code while all allocations from the n-th on
/// fail. Returns the number of allocations.
long freeWithoutMemory(long nth) {
  heddle_executable *executable = cpuExecutable();
  arm(Resource::Memory, nth, /*all=*/true);
  heddle_executable_free(executable);
  return disarm();
}

/// The next compilation still has its reserve, and fork() on another thread
/// does not wait for this one.
TEST(InjectionTest, AllMemoryOfAFree) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own allocator";
  ASSERT_TRUE(succeeded(compileForCpu()));
  long total = freeWithoutMemory(0);
  ASSERT_GT(total, 0);
  for (long nth = 1; nth <= total; ++nth)
    ASSERT_EQ(runInChild([=] {
                freeWithoutMemory(nth);
                int result = compileForCpu().succeeded() ? 0 : 1;
                std::thread([&] {
                  result += runInChild([] { return 0; }) == 0 ? 0 : 2;
                }).join();
                return result;
              }),
              0)
        << "request " << nth << " of " << total;
}

/// The first compilation of a process fails while LLVM allocates the memory
/// that it allocates only once.
TEST(InjectionTest, MemoryOfAFirstCompilation) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own allocator";
  long total = std::atol(runProgram({"--first-compilation", "0"}).c_str());
  ASSERT_GT(total, 1000);
  for (long nth : requestsToRefuse(total, 50))
    ASSERT_NE(runProgram({"--first-compilation", std::to_string(nth)}), "")
        << "request " << nth << " of " << total;
}

//===----------------------------------------------------------------------===//
// Threads and mappings
//===----------------------------------------------------------------------===//

TEST(InjectionTest, MappingsOfACompilation) {
  expectHolds(compileForCpu, {Resource::Map});
}

/// Fewer threads are no error.
int runWithoutThreads(long nth) {
  arm(Resource::Thread, nth, /*all=*/true);
  Outcome outcome = runCpu();
  disarm();
  return outcome.succeeded() && runCpu().succeeded() ? 0 : 1;
}

TEST(InjectionTest, ThreadsOfTheCpuTarget) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own threads";
  // A child of fork() starts without threads.
  ASSERT_TRUE(succeeded(runCpu()));
  for (long nth : {1, 2, 3})
    EXPECT_EQ(runInChild([=] { return runWithoutThreads(nth); }), 0);
}

} // namespace

/// runProgram() starts this. Prints the number of requests of a first
/// compilation, of which the `nth` is refused.
int heddle::test::compileFirst(long nth) {
  arm(Resource::Memory, nth);
  heddle_status status = compileForCpu().status;
  long total = disarm();
  if (nth > 0 && status != HEDDLE_OK && status != HEDDLE_FAILED)
    return 1;
  if (!compileForCpu().succeeded())
    return 2;
  std::printf("%ld\n", total);
  return 0;
}

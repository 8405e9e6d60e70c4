//===- InjectionTests.cpp - The n-th request of the library fails ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence of calls runs once for each n. The n-th allocation, thread,
// mapping or write of the library fails. Each time the sequence ends with a
// status, the library has freed its allocations, and the same sequence then
// succeeds.
//
// HEDDLE_INJECTION=full tests every n, and HEDDLE_INJECTION=K/N the K-th of N
// parts; otherwise only some of a long sequence.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include "Injection.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace heddle::test;

namespace {

using Sequence = std::function<Outcome()>;

struct Injected {
  Resource resource;
  bool all = false; ///< every later request, too
  long most = 100;  ///< values of n to test, spread over the sequence
  size_t leak = 0;  ///< bytes that a failure may lose
};

/// The values of n to test, of a sequence with `total` requests.
std::vector<long> requestsToRefuse(long total, long most) {
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

void expectHolds(const Sequence &sequence, Injected injected) {
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own allocator";
  // Twice, because memory that the library keeps from a first call is no leak.
  ASSERT_TRUE(succeeded(sequence()));
  ASSERT_TRUE(succeeded(sequence()));
  arm(injected.resource, 0);
  ASSERT_TRUE(succeeded(sequence()));
  long total = disarm();
  ASSERT_GT(total, 0);
  long failures = 0, tested = 0;
  size_t leaked = 0, worst = 0;
  for (long nth : requestsToRefuse(total, injected.most)) {
    Outcome outcome;
    size_t lost = 0, allowed = 0;
    // A table of LLVM may grow once and keep its memory; a leak occurs again.
    for (int attempt = 0; attempt < 2 && (attempt == 0 || lost > allowed);
         ++attempt) {
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
  std::printf("%ld requests, %ld refused, %ld failures, %zu bytes lost on "
              "average, %zu at most\n",
              total, tested, failures, leaked / std::max(1l, tested), worst);
}

Outcome runCpu() {
  return runOnCpu(Executables::elementwise(), Executables::loop());
}
Outcome runCuda() {
  return runOnCuda(Executables::cuda(), Executables::cudaSum());
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
// Threads, mappings and writes
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

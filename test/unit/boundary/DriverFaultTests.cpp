//===- DriverFaultTests.cpp - A driver that fails or returns nonsense -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <vector>

using namespace heddle::test;

namespace {

class DriverFaultTest
    : public testing::TestWithParam<heddle_stand_in_behavior> {};

Outcome runAll() {
  return runOnCuda(Executables::cuda(), Executables::cudaSum());
}

/// Runs the sequence once for each of its calls of the driver. This call
/// behaves as the parameter says.
TEST_P(DriverFaultTest, EachCall) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  auto setFault = HEDDLE_STAND_IN(heddle_stand_in_fault);
  auto calls = HEDDLE_STAND_IN(heddle_stand_in_calls);
  auto allocations = HEDDLE_STAND_IN(heddle_stand_in_allocations);
  ASSERT_TRUE(succeeded(runAll()));
  setFault(HEDDLE_STAND_IN_COUNTS, 0);
  ASSERT_TRUE(succeeded(runAll()));
  long total = calls();
  ASSERT_GT(total, 20);
  int failures = 0;
  for (long nth = 1; nth <= total; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    size_t before = allocations();
    setFault(GetParam(), nth);
    Outcome outcome = runAll();
    setFault(HEDDLE_STAND_IN_WORKS, 0);
    if (outcome.status != HEDDLE_OK) {
      ++failures;
      EXPECT_STRNE(outcome.error, "");
    }
    // If the call frees an allocation, that allocation remains.
    if (GetParam() == HEDDLE_STAND_IN_FAILS)
      EXPECT_LE(allocations(), before + 1);
    ASSERT_TRUE(succeeded(runAll()));
  }
  std::printf("%ld calls, %d failures\n", total, failures);
}

/// A call of the driver fails while a step gets new addresses. The step either
/// runs with them or not at all, and so do the next steps, with the old or the
/// new addresses.
void expectWholeSteps(heddle_executable *executable, int least) {
  auto setFault = HEDDLE_STAND_IN(heddle_stand_in_fault);
  auto calls = HEDDLE_STAND_IN(heddle_stand_in_calls);
  constexpr int members = 3, count = 10;
  constexpr size_t bytes = members * count * sizeof(float);
  heddle_memory *x = nullptr, *g[2] = {};
  for (heddle_memory **memory : {&x, &g[0], &g[1]})
    ASSERT_EQ(heddle_memory_create(executable, bytes, memory), HEDDLE_OK);
  for (int list = 0; list < 2; ++list) {
    std::vector<float> values(members * count, list ? 100.0f : 1.0f);
    ASSERT_EQ(heddle_memory_write(g[list], 0, values.data(), bytes), HEDDLE_OK);
  }
  auto bind = [&](heddle_graph *graph, const char *name,
                  heddle_memory *memory) {
    void *pointers[members];
    int ranks[members];
    int64_t extents[members];
    for (int m = 0; m < members; ++m) {
      pointers[m] = static_cast<char *>(heddle_memory_address(memory)) +
                    m * count * sizeof(float);
      ranks[m] = 1;
      extents[m] = count;
    }
    return heddle_bind_list(graph, name, HEDDLE_F32, members, pointers, ranks,
                            extents);
  };
  float expected = 0;
  auto expectSum = [&] {
    std::vector<float> values(members * count);
    ASSERT_EQ(heddle_memory_read(x, 0, values.data(), bytes), HEDDLE_OK);
    EXPECT_EQ(values, std::vector<float>(members * count, expected));
  };
  int failures = 0;
  for (int after = 0; after < 2; ++after)
    for (long nth = 1;; ++nth) {
      SCOPED_TRACE("call " + std::to_string(nth));
      std::vector<float> zero(members * count);
      ASSERT_EQ(heddle_memory_write(x, 0, zero.data(), bytes), HEDDLE_OK);
      expected = 0;
      heddle_graph *graph = nullptr;
      ASSERT_EQ(heddle_graph_create(executable, &graph), HEDDLE_OK);
      ASSERT_EQ(bind(graph, "x", x), HEDDLE_OK);
      ASSERT_EQ(bind(graph, "g", g[0]), HEDDLE_OK);
      ASSERT_EQ(heddle_replay(graph, nullptr), HEDDLE_OK);
      expected += 1;
      setFault(HEDDLE_STAND_IN_FAILS, nth);
      EXPECT_EQ(bind(graph, "g", g[1]), HEDDLE_OK);
      heddle_status status = heddle_replay(graph, nullptr);
      bool reached = calls() >= nth;
      setFault(HEDDLE_STAND_IN_WORKS, 0);
      failures += status != HEDDLE_OK;
      if (status == HEDDLE_OK)
        expected += 100;
      expectSum();
      ASSERT_EQ(bind(graph, "g", g[after]), HEDDLE_OK);
      ASSERT_EQ(heddle_replay(graph, nullptr), HEDDLE_OK)
          << heddle_last_error();
      expected += after ? 100 : 1;
      expectSum();
      ASSERT_EQ(bind(graph, "g", g[1 - after]), HEDDLE_OK);
      ASSERT_EQ(heddle_replay(graph, nullptr), HEDDLE_OK);
      expected += after ? 1 : 100;
      expectSum();
      heddle_graph_free(graph);
      if (!reached || testing::Test::HasFailure())
        break;
    }
  EXPECT_GE(failures, least);
  for (heddle_memory *memory : {x, g[0], g[1]})
    heddle_memory_free(memory);
}

TEST(DriverFaults, NewAddressesAreWrittenWholly) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  expectWholeSteps(Executables::cudaSum(), 7);
}

TEST(DriverFaults, DistancesAreSetWholly) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  ASSERT_TRUE(Executables::cudaDistances());
  expectWholeSteps(Executables::cudaDistances(), 7);
}

/// Copies to and from memory are ordered with steps on all streams.
TEST(DriverMemory, CopiesWaitForSubmittedSteps) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  auto defer = HEDDLE_STAND_IN(heddle_stand_in_defer);
  constexpr size_t count = 10;
  heddle_memory *x = nullptr, *g = nullptr;
  for (heddle_memory **memory : {&x, &g})
    ASSERT_EQ(heddle_memory_create(Executables::cudaSum(),
                                   count * sizeof(float), memory),
              HEDDLE_OK);
  auto write = [&](heddle_memory *memory, float value) {
    std::vector<float> values(count, value);
    EXPECT_EQ(
        heddle_memory_write(memory, 0, values.data(), count * sizeof(float)),
        HEDDLE_OK);
  };
  write(x, 0);
  write(g, 1);
  heddle_graph *graph = nullptr;
  ASSERT_EQ(heddle_graph_create(Executables::cudaSum(), &graph), HEDDLE_OK);
  int rank = 1;
  int64_t extent = count;
  for (auto [name, memory] : {std::pair("x", x), std::pair("g", g)}) {
    void *address = heddle_memory_address(memory);
    ASSERT_EQ(
        heddle_bind_list(graph, name, HEDDLE_F32, 1, &address, &rank, &extent),
        HEDDLE_OK);
  }
  defer(1);
  EXPECT_EQ(heddle_replay(graph, nullptr), HEDDLE_OK);
  write(g, 100); // the submitted step adds 1
  EXPECT_EQ(heddle_replay(graph, nullptr), HEDDLE_OK);
  std::vector<float> values(count);
  EXPECT_EQ(heddle_memory_read(x, 0, values.data(), count * sizeof(float)),
            HEDDLE_OK);
  defer(0);
  EXPECT_EQ(values, std::vector<float>(count, 101));
  heddle_graph_free(graph);
  heddle_memory_free(x);
  heddle_memory_free(g);
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

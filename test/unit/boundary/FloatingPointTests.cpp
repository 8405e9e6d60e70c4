//===- FloatingPointTests.cpp - The caller's floating-point environment ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <cfenv>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

using namespace heddle::test;

namespace {

constexpr heddle_options cpu = {sizeof(heddle_options), "cpu", nullptr};

/// Thirds are rounded; the smallest are denormal.
constexpr const char *thirds = R"(
!list = !foreach.list<tensor<?xf32>>
func.func @thirds(%x: !list {foreach.donate = 0 : i64}) -> !list {
  %y = foreach.map (%x = %x : !list) -> !list {
    %three = arith.constant 3.0 : f32
    %y = arith.divf %x, %three : f32
    foreach.yield %y : f32
  }
  return %y : !list
}
)";

/// Large enough for all threads.
constexpr int64_t count = 1 << 20;

std::vector<float> numbers() {
  std::vector<float> all(count);
  for (int64_t k = 0; k < count; ++k)
    all[k] = (k % 2 ? 1e-38f : 1.0f) * static_cast<float>(k + 1);
  return all;
}

/// `all`, divided by three on the cpu target.
std::vector<float> compileAndRun(std::vector<float> all) {
  void *address = all.data();
  int rank = 1;
  heddle_executable *executable = nullptr;
  heddle_graph *graph = nullptr;
  EXPECT_EQ(heddle_compile(thirds, &cpu, &executable), HEDDLE_OK)
      << heddle_last_error();
  EXPECT_EQ(heddle_graph_create(executable, &graph), HEDDLE_OK);
  EXPECT_EQ(
      heddle_bind_list(graph, "x", HEDDLE_F32, 1, &address, &rank, &count),
      HEDDLE_OK);
  EXPECT_EQ(heddle_replay(graph, nullptr), HEDDLE_OK) << heddle_last_error();
  heddle_graph_free(graph);
  heddle_executable_free(executable);
  return all;
}

/// The same on this thread.
std::vector<float> divide(std::vector<float> all) {
  for (float &number : all)
    number /= 3;
  return all;
}

/// Each in a child: its first calls start the threads of the library.
TEST(FloatingPointTest, ResultsDoNotDependOnTheRoundingOfTheCaller) {
  const std::vector<float> given = numbers(), wanted = divide(given);
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    EXPECT_EQ(runInChild([&] {
                std::fesetround(mode);
                bool same = compileAndRun(given) == wanted;
                return !(same && std::fegetround() == mode);
              }),
              0)
        << mode;
}

#if defined(__SSE__)
TEST(FloatingPointTest, ResultsDoNotDependOnFlushedDenormalsOrTraps) {
  const std::vector<float> given = numbers(), wanted = divide(given);
  constexpr unsigned flush = 0x8040, trapInexact = 0x1000, byDefault = 0x1f80;
  for (unsigned environment : {byDefault | flush, byDefault & ~trapInexact})
    EXPECT_EQ(runInChild([&] {
                _mm_setcsr(environment);
                bool same = compileAndRun(given) == wanted;
                bool kept = (_mm_getcsr() & ~0x3fu) == environment;
                _mm_setcsr(byDefault);
                return !(same && kept);
              }),
              0)
        << environment;
}
#endif

} // namespace

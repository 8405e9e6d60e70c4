//===- ThreadTests.cpp - Calls on several threads at once -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread has its own graph and its own buffers. Executables are shared.
// `tools/dev sanitize` runs these tests with the thread sanitizer.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstring>
#include <thread>

using namespace heddle::test;

namespace {

constexpr heddle_options cpu = {sizeof(heddle_options), "cpu", nullptr};
constexpr heddle_options sm90 = {sizeof(heddle_options), "cuda", "sm_90"};

constexpr int threadCount = 4, rounds = 8;

/// Runs `body` in rounds on all threads at once, and reports the first problem
/// of each thread, a text that `body` returns.
template <class Body> void onThreads(const Body &body) {
  std::string problems[threadCount];
  std::barrier start(threadCount);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threadCount; ++thread)
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (int round = 0; round < rounds; ++round)
        if (std::string problem = body(thread, round); problems[thread].empty())
          problems[thread] = problem;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &problem : problems)
    EXPECT_EQ(problem, "");
}

/// The message of a failed call of this thread.
#define HEDDLE_TRY(call)                                                       \
  if ((call) != HEDDLE_OK)                                                     \
  return #call ": " + std::string(heddle_last_error())

/// Frees its handles at the end of a round.
struct Handles {
  heddle_memory *x = nullptr, *y = nullptr;
  heddle_executable *executable = nullptr;
  heddle_graph *graph = nullptr;

  ~Handles() {
    heddle_graph_free(graph);
    heddle_memory_free(x);
    heddle_memory_free(y);
    heddle_executable_free(executable);
  }
};

heddle_status bind(heddle_graph *graph, const char *name, void *address,
                   int64_t count) {
  int rank = 1;
  return heddle_bind_list(graph, name, HEDDLE_F32, 1, &address, &rank, &count);
}

/// One step of `sgd` on the cpu target, large enough for several threads of the
/// library.
std::string step(heddle_executable *executable, int thread, int round) {
  Handles own;
  std::vector<float> parameters(50000 + 1000 * thread, 1.0f);
  std::vector<float> gradients(parameters.size(), 0.5f);
  float rate = 0.01f * static_cast<float>(thread + round + 1);
  HEDDLE_TRY(heddle_graph_create(executable, &own.graph));
  HEDDLE_TRY(bind(own.graph, "param", parameters.data(), parameters.size()));
  HEDDLE_TRY(bind(own.graph, "grad", gradients.data(), gradients.size()));
  HEDDLE_TRY(heddle_set_scalar(own.graph, "lr", rate, nullptr));
  HEDDLE_TRY(heddle_replay(own.graph, nullptr));
  for (float parameter : parameters)
    if (std::fabs(parameter - (1 - 0.5f * rate)) > 1e-6f)
      return "a wrong result";
  return "";
}

TEST(ThreadTest, GraphsOfOneExecutable) {
  heddle_executable *shared = Executables::elementwise();
  ASSERT_TRUE(shared) << heddle_last_error();
  onThreads([&](int thread, int round) { return step(shared, thread, round); });
}

TEST(ThreadTest, Compilations) {
  onThreads([](int thread, int round) -> std::string {
    Handles own;
    HEDDLE_TRY(heddle_compile(thread % 2 ? "sgd" : "clip_by_global_norm+sgd",
                              &cpu, &own.executable));
    return thread % 2 ? step(own.executable, thread, round) : "";
  });
}

TEST(ThreadTest, EachThreadHasItsOwnError) {
  heddle_executable *shared = Executables::elementwise();
  ASSERT_TRUE(shared) << heddle_last_error();
  std::barrier afterCall(threadCount);
  onThreads([&](int thread, int) -> std::string {
    Handles own;
    std::string name = "list_of_thread_" + std::to_string(thread);
    float value = 0;
    heddle_status created = heddle_graph_create(shared, &own.graph);
    heddle_status bound = bind(own.graph, name.c_str(), &value, 1);
    afterCall.arrive_and_wait();
    if (created != HEDDLE_OK || bound != HEDDLE_BAD_INPUT ||
        !std::strstr(heddle_last_error(), name.c_str()))
      return "another error: " + std::string(heddle_last_error());
    return "";
  });
}

/// Two replays of a loop on the stand-in driver.
std::string halve(heddle_executable *executable, int thread) {
  Handles own;
  int64_t count = 100 + thread;
  size_t bytes = count * sizeof(float);
  std::vector<float> numbers(count, 32.0f);
  HEDDLE_TRY(heddle_memory_create(executable, bytes, &own.x));
  HEDDLE_TRY(heddle_memory_create(executable, bytes, &own.y));
  HEDDLE_TRY(heddle_graph_create(executable, &own.graph));
  void *result = heddle_memory_address(own.y);
  int rank = 1;
  HEDDLE_TRY(heddle_memory_write(own.x, 0, numbers.data(), bytes));
  HEDDLE_TRY(bind(own.graph, "x", heddle_memory_address(own.x), count));
  HEDDLE_TRY(heddle_bind_result(own.graph, "y", HEDDLE_F32, 1, &result, &rank,
                                &count));
  for (int limit : {thread, thread + 1}) {
    HEDDLE_TRY(heddle_set_scalar(own.graph, "limit", limit, nullptr));
    HEDDLE_TRY(heddle_replay(own.graph, nullptr));
  }
  HEDDLE_TRY(heddle_synchronize(own.graph, nullptr));
  HEDDLE_TRY(heddle_memory_read(own.y, 0, numbers.data(), bytes));
  float expected = std::max(1.0f, 32 / std::exp2f(thread + 1));
  for (float number : numbers)
    if (number != expected)
      return "a wrong result";
  return "";
}

TEST(ThreadTest, CudaGraphsOfOneExecutable) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  heddle_executable *shared = Executables::cuda();
  onThreads([&](int thread, int) { return halve(shared, thread); });
}

/// The first threads find no kernels in the cache, and NVRTC compiles them.
TEST(ThreadTest, PlansLoadedAtOnce) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  clearCache();
  onThreads([](int thread, int) -> std::string {
    Handles own;
    HEDDLE_TRY(heddle_load_plan(cudaPlan().c_str(), &sm90, &own.executable));
    return halve(own.executable, thread);
  });
}

} // namespace

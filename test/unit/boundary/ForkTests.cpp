//===- ForkTests.cpp - Handles in a child of fork() -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace heddle::test;

namespace {

constexpr heddle_options sm90 = {sizeof(heddle_options), "cuda", "sm_90"};

/// Whether a call was refused with a message that names the parent process.
bool namesParent(heddle_status status) {
  std::string parent = "process " + std::to_string(getppid());
  return status == HEDDLE_BAD_INPUT &&
         std::strstr(heddle_last_error(), parent.c_str());
}

int runCpu() {
  return runOnCpu(Executables::elementwise(), Executables::loop()).succeeded()
             ? 0
             : 1;
}

TEST(ForkTest, TheCpuTargetWorksInAChild) {
  ASSERT_EQ(runCpu(), 0); // starts the threads
  EXPECT_EQ(runInChild(runCpu), 0);
  EXPECT_EQ(runInChild([] { return compileForCpu().succeeded() ? 0 : 1; }), 0);
  // And in a child of the child, and still in the parent.
  EXPECT_EQ(runInChild([] { return runCpu() ? 1 : runInChild(runCpu); }), 0);
  EXPECT_EQ(runCpu(), 0);
}

TEST(ForkTest, AForkDuringReplaysOfOtherThreads) {
  ASSERT_EQ(runCpu(), 0);
  std::atomic<bool> ends{false};
  std::atomic<int> failures{0};
  // One thread replays, another compiles: the child must not inherit a lock.
  std::thread replays([&] {
    while (!ends)
      failures += runCpu();
  });
  std::thread compilations([&] {
    while (!ends)
      failures += !compileForCpu().succeeded();
  });
  for (int k = 0; k < 20; ++k)
    EXPECT_EQ(runInChild([] { return compileForCpu().succeeded() ? 0 : 1; }),
              0);
  ends = true;
  replays.join();
  compilations.join();
  EXPECT_EQ(failures, 0);
}

TEST(ForkTest, AForkComesBeforeTheNextCompilations) {
  ASSERT_EQ(runCpu(), 0);
  std::atomic<bool> ends{false};
  std::atomic<int> compilations{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      while (!ends)
        compilations += compileForCpu().succeeded();
    });
  while (compilations < 3)
    std::this_thread::yield();
  int before = compilations;
  EXPECT_EQ(runInChild([] { return 0; }), 0);
  // Those in flight, and those that other threads start after the fork.
  EXPECT_LE(compilations - before, 20);
  ends = true;
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ForkTest, ACudaGraphNamesItsProcess) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  heddle_executable *executable = Executables::cuda();
  heddle_graph *graph = nullptr;
  heddle_memory *memory = nullptr;
  ASSERT_EQ(heddle_graph_create(executable, &graph), HEDDLE_OK);
  ASSERT_EQ(heddle_memory_create(executable, 64, &memory), HEDDLE_OK);
  auto setFault = HEDDLE_STAND_IN(heddle_stand_in_fault);
  auto calls = HEDDLE_STAND_IN(heddle_stand_in_calls);
  EXPECT_EQ(
      runInChild([&] {
        setFault(HEDDLE_STAND_IN_COUNTS, 0);
        float value = 0;
        double number = 0;
        int line = 0;
        for (bool refused :
             {namesParent(heddle_prepare(graph, nullptr)),
              namesParent(heddle_replay(graph, nullptr)),
              namesParent(heddle_set_scalar(graph, "limit", 3, nullptr)),
              namesParent(heddle_synchronize(graph, nullptr)),
              namesParent(heddle_read_scalar(graph, "limit", &number, nullptr)),
              namesParent(heddle_measure(graph, 1, 1, &number)),
              namesParent(heddle_memory_write(memory, 0, &value, 4)),
              namesParent(heddle_memory_read(memory, 0, &value, 4))}) {
          ++line;
          if (!refused)
            return line;
        }
        heddle_graph *another = nullptr;
        if (heddle_graph_create(executable, &another) != HEDDLE_UNAVAILABLE ||
            !std::strstr(heddle_last_error(), "fork()"))
          return 50;
        heddle_graph_free(graph);
        heddle_memory_free(memory);
        heddle_executable_free(executable);
        // Nothing of this has called the driver.
        return calls() ? 51 : 0;
      }),
      0);
  // The handles still work here.
  EXPECT_TRUE(succeeded(runOnCuda(executable, Executables::cudaSum())));
  heddle_graph_free(graph);
  heddle_memory_free(memory);
}

TEST(ForkTest, AChildCompilesForANamedArchitecture) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  clearCache();
  EXPECT_EQ(runInChild([] {
              heddle_executable *executable = nullptr;
              heddle_status status = heddle_compile("sgd", &sm90, &executable);
              heddle_executable_free(executable);
              return static_cast<int>(status);
            }),
            0);
}

} // namespace

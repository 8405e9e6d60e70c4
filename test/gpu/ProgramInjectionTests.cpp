//===- ProgramInjectionTests.cpp - The n-th request on a GPU fails --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled programs on a GPU, as in test/unit/boundary. Only requests of
// libheddle.so are refused, none of the driver or of NVRTC. Driver calls fail
// in libheddle_faulty_driver.so. After each refusal, the program must have the
// bits of the first run.
//
//===----------------------------------------------------------------------===//

#include "FaultyDriver.h"
#include "test/unit/boundary/Calls.h"
#include "test/unit/boundary/InjectionHarness.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

using namespace heddle::test;

namespace {

constexpr heddle_options device = {sizeof(heddle_options), "cuda", nullptr};

/// Null, with status HEDDLE_UNAVAILABLE, on a machine without a GPU.
heddle_executable *compile(const char *program, heddle_status &status) {
  heddle_executable *executable = nullptr;
  status = heddle_compile(program, &device, &executable);
  return executable;
}

/// Writes `base`, or values from `base` to 1.5 times `base`.
heddle_status fill(heddle_memory *memory, size_t count, float base,
                   bool ramp = true) {
  static std::vector<float> values;
  if (values.size() < count)
    values.resize(count);
  for (size_t k = 0; k < count; ++k)
    values[k] = base * (1 + (ramp ? static_cast<float>(k % 17) / 32 : 0));
  return heddle_memory_write(memory, 0, values.data(), count * sizeof(float));
}

/// Whether the memory has the same bytes at every call for the same `first`.
bool sameBits(Calls &calls, heddle_memory *memory, size_t count,
              std::vector<float> &first) {
  static std::vector<float> values;
  values.resize(count);
  if (!calls("heddle_memory_read", heddle_memory_read(memory, 0, values.data(),
                                                      count * sizeof(float))))
    return false;
  for (float value : values)
    if (!calls.expect(std::isfinite(value)))
      return false;
  if (first.empty())
    first = values;
  return calls.expect(
      std::memcmp(first.data(), values.data(), count * sizeof(float)) == 0);
}

//===----------------------------------------------------------------------===//
// An optimizer
//===----------------------------------------------------------------------===//

constexpr size_t sizes[] = {1000, 5003, 20000, 7};
constexpr size_t members = std::size(sizes);
constexpr size_t elements = 32768; ///< of all members, with gaps

heddle_status bindMembers(heddle_graph *graph, const char *name, int rank,
                          heddle_memory *memory) {
  auto *base = static_cast<float *>(heddle_memory_address(memory));
  void *pointers[members];
  int ranks[members];
  int64_t extents[members];
  size_t offset = 0;
  for (size_t m = 0; m < members; ++m) {
    pointers[m] = base + offset;
    ranks[m] = rank;
    extents[m] = static_cast<int64_t>(sizes[m]);
    offset += (sizes[m] + 63) / 64 * 64;
  }
  return heddle_bind_list(graph, name, HEDDLE_F32, members, pointers, ranks,
                          extents);
}

/// Three steps, the last with gradients at other addresses.
Outcome runOptimizer(heddle_executable *executable) {
  static std::vector<float> first;
  constexpr size_t most = 8;
  Calls calls;
  Memory lists[most], other;
  Graph graph;
  Memory *param = nullptr;
  auto create = [&](Memory &memory, float value) {
    return calls("heddle_memory_create",
                 heddle_memory_create(executable, elements * sizeof(float),
                                      &memory.handle)) &&
           calls("fill", fill(memory.handle, elements, value));
  };
  if (!create(other, -2) ||
      !calls("heddle_graph_create",
             heddle_graph_create(executable, &graph.handle)))
    return calls.outcome;
  size_t count = heddle_argument_count(executable), list = 0;
  for (size_t k = 0; k < count; ++k) {
    heddle_buffer_info info;
    if (!calls("heddle_argument", heddle_argument(executable, k, &info)))
      return calls.outcome;
    if (!info.is_list)
      continue;
    if (!calls.expect(list < most))
      return calls.outcome;
    bool isParam = std::strcmp(info.name, "param") == 0;
    bool isGrad = std::strcmp(info.name, "grad") == 0;
    Memory &memory = lists[list++];
    if (isParam)
      param = &memory;
    if (!create(memory, isParam || isGrad ? 1 : 0) ||
        !calls("heddle_bind_list",
               bindMembers(graph.handle, info.name, info.rank, memory.handle)))
      return calls.outcome;
  }
  if (calls.expect(param) &&
      calls("heddle_prepare", heddle_prepare(graph.handle, nullptr)) &&
      calls("heddle_replay", heddle_replay(graph.handle, nullptr)) &&
      calls("heddle_set_scalar",
            heddle_set_scalar(graph.handle, "lr", 0.01, nullptr)) &&
      calls("heddle_replay", heddle_replay(graph.handle, nullptr)) &&
      calls("heddle_bind_list",
            bindMembers(graph.handle, "grad", 1, other.handle)) &&
      calls("heddle_replay", heddle_replay(graph.handle, nullptr)))
    sameBits(calls, param->handle, elements, first);
  heddle_graph_free(std::exchange(graph.handle, nullptr));
  return calls.outcome;
}

//===----------------------------------------------------------------------===//
// A loop over matrices
//===----------------------------------------------------------------------===//

heddle_status bindVector(heddle_graph *graph, const char *name,
                         heddle_memory *memory, int64_t count, bool result) {
  void *address = heddle_memory_address(memory);
  int rank = 1;
  return (result ? heddle_bind_result : heddle_bind_list)(
      graph, name, HEDDLE_F32, 1, &address, &rank, &count);
}

Outcome runLoop(heddle_executable *executable, int64_t rows, int64_t columns,
                std::vector<float> &first) {
  Calls calls;
  Memory cost, a, b, u;
  Graph graph;
  for (Memory *memory : {&cost, &a, &b, &u})
    if (!calls("heddle_memory_create",
               heddle_memory_create(executable, rows * columns * sizeof(float),
                                    &memory->handle)))
      return calls.outcome;
  void *address = heddle_memory_address(cost.handle);
  int rank = 2;
  int64_t extents[] = {rows, columns};
  if (calls("fill", fill(cost.handle, rows * columns, 1)) &&
      calls("fill",
            fill(a.handle, rows, 1.0f / static_cast<float>(rows), false)) &&
      calls("fill", fill(b.handle, columns, 1.0f / static_cast<float>(columns),
                         false)) &&
      calls("heddle_graph_create",
            heddle_graph_create(executable, &graph.handle)) &&
      calls("heddle_bind_list",
            heddle_bind_list(graph.handle, "C", HEDDLE_F32, 1, &address, &rank,
                             extents)) &&
      calls("heddle_bind_list",
            bindVector(graph.handle, "a", a.handle, rows, false)) &&
      calls("heddle_bind_list",
            bindVector(graph.handle, "b", b.handle, columns, false)) &&
      calls("heddle_bind_result",
            bindVector(graph.handle, "u", u.handle, rows, true)) &&
      calls("heddle_set_scalar",
            heddle_set_scalar(graph.handle, "limit", 20, nullptr)) &&
      calls("heddle_replay", heddle_replay(graph.handle, nullptr)) &&
      calls("heddle_replay", heddle_replay(graph.handle, nullptr)))
    sameBits(calls, u.handle, rows, first);
  heddle_graph_free(std::exchange(graph.handle, nullptr));
  return calls.outcome;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

#define HEDDLE_COMPILE_OR_SKIP(executable, program)                            \
  static heddle_status status;                                                 \
  static heddle_executable *const executable = compile(program, status);       \
  if (status == HEDDLE_UNAVAILABLE)                                            \
    GTEST_SKIP() << heddle_last_error();                                       \
  ASSERT_TRUE(executable) << heddle_last_error()

TEST(InjectionTest, MemoryOfAnOptimizer) {
  HEDDLE_COMPILE_OR_SKIP(optimizer, "clip_by_global_norm+adamw");
  expectHolds([] { return runOptimizer(optimizer); },
              {Resource::Memory, false, 300});
}
TEST(InjectionTest, AllMemoryOfAnOptimizer) {
  HEDDLE_COMPILE_OR_SKIP(optimizer, "clip_by_global_norm+adamw");
  expectHolds([] { return runOptimizer(optimizer); },
              {Resource::Memory, true, 100});
}

Outcome runSinkhorn(heddle_executable *executable) {
  static std::vector<float> small, large;
  Outcome outcome = runLoop(executable, 30, 20, small);
  return outcome.succeeded() ? runLoop(executable, 300, 500, large) : outcome;
}
TEST(InjectionTest, MemoryOfSinkhorn) {
  HEDDLE_COMPILE_OR_SKIP(sinkhorn, "sinkhorn");
  expectHolds([] { return runSinkhorn(sinkhorn); },
              {Resource::Memory, false, 200});
}
TEST(InjectionTest, AllMemoryOfSinkhorn) {
  HEDDLE_COMPILE_OR_SKIP(sinkhorn, "sinkhorn");
  expectHolds([] { return runSinkhorn(sinkhorn); },
              {Resource::Memory, true, 100});
}
/// A GPU's graph needs no thread of the library.
TEST(InjectionTest, ThreadsOfACudaGraph) {
  HEDDLE_COMPILE_OR_SKIP(sinkhorn, "sinkhorn");
  if (!canInject())
    GTEST_SKIP() << "the sanitizer has its own threads";
  arm(Resource::Thread, 1, /*all=*/true);
  Outcome outcome = runSinkhorn(sinkhorn);
  disarm();
  EXPECT_TRUE(succeeded(outcome));
}

/// A formatted text of LLVM that an exception interrupts.
constexpr size_t lostPerFailure = 1024;

/// Compiles with NVRTC, or takes the kernels from the cache.
Outcome compileForDevice() {
  Calls calls;
  Executable executable;
  calls("heddle_compile",
        heddle_compile("sgd:momentum=0.9", &device, &executable.handle));
  return calls.outcome;
}
TEST(InjectionTest, MemoryOfACudaCompilation) {
  HEDDLE_COMPILE_OR_SKIP(sgd, "sgd:momentum=0.9");
  expectHolds(compileForDevice, {Resource::Memory, false, 100, lostPerFailure});
}
TEST(InjectionTest, MemoryOfACudaCompilationWithoutCache) {
  HEDDLE_COMPILE_OR_SKIP(sgd, "sgd:momentum=0.9");
  Injected injected{Resource::Memory, false, 8, lostPerFailure};
  injected.before = clearCache;
  expectHolds(compileForDevice, injected);
}

//===----------------------------------------------------------------------===//
// Driver calls
//===----------------------------------------------------------------------===//

template <typename Function> Function ofFaultyDriver(const char *name) {
  static void *const driver =
      dlopen(std::getenv("HEDDLE_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(driver ? dlsym(driver, name) : nullptr);
}

/// Runs the sequence once for each of its calls of the driver, which fails.
void expectHoldsForEachCall(const Sequence &sequence, long most) {
  auto fail = ofFaultyDriver<decltype(&heddle_faulty_driver_fail)>(
      "heddle_faulty_driver_fail");
  auto calls = ofFaultyDriver<decltype(&heddle_faulty_driver_calls)>(
      "heddle_faulty_driver_calls");
  ASSERT_TRUE(fail && calls);
  ASSERT_TRUE(succeeded(sequence()));
  fail(0);
  ASSERT_TRUE(succeeded(sequence()));
  long total = calls();
  ASSERT_GT(total, 20);
  size_t onDevice = deviceMemory();
  int failures = 0, tested = 0;
  for (long nth : requestsToRefuse(total, most)) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of " +
                 std::to_string(total));
    fail(nth);
    Outcome outcome = sequence();
    fail(0);
    ++tested;
    if (outcome.status != HEDDLE_OK) {
      ++failures;
      EXPECT_STRNE(outcome.error, "");
    }
    EXPECT_FALSE(outcome.wrongResult);
    ASSERT_TRUE(succeeded(sequence()));
    if (testing::Test::HasFailure())
      break;
  }
  EXPECT_LE(deviceMemory(), onDevice + deviceMemoryTolerance);
  std::printf("%ld calls, %d of them fail, %d failures\n", total, tested,
              failures);
}

TEST(InjectionTest, DriverCallsOfACudaGraph) {
  HEDDLE_NEED_CUDA_EXECUTABLE();
  expectHoldsForEachCall(
      [] { return runOnCuda(Executables::cuda(), Executables::cudaSum()); },
      400);
}
TEST(InjectionTest, DriverCallsOfAnOptimizer) {
  HEDDLE_COMPILE_OR_SKIP(optimizer, "clip_by_global_norm+adamw");
  expectHoldsForEachCall([] { return runOptimizer(optimizer); }, 400);
}
TEST(InjectionTest, DriverCallsOfSinkhorn) {
  HEDDLE_COMPILE_OR_SKIP(sinkhorn, "sinkhorn");
  expectHoldsForEachCall([] { return runSinkhorn(sinkhorn); }, 200);
}

} // namespace

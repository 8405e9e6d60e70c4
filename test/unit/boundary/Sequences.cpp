//===- Sequences.cpp - Calls of the C interface that belong together ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "test/gpu/RuntimePlans.h"

#include <cmath>
#include <cstring>

namespace heddle::test {

namespace {

constexpr heddle_options cpu = {sizeof(heddle_options), "cpu", nullptr};
constexpr heddle_options device = {sizeof(heddle_options), "cuda", nullptr};
constexpr heddle_options sm90 = {sizeof(heddle_options), "cuda", "sm_90"};
/// Not the architecture of the stand-in driver, because heddle_explain() would
/// measure the copy bandwidth of its device.
constexpr heddle_options sm80 = {sizeof(heddle_options), "cuda", "sm_80"};

constexpr int largest = 40000;
float values[4][largest];

void fill(int list, float value) {
  for (float &element : values[list])
    element = value;
}

/// Binds one member of `count` elements, or a matrix.
heddle_status bindOne(heddle_graph *graph, const char *name, void *address,
                      int64_t count, int64_t columns = 0) {
  int rank = columns ? 2 : 1;
  int64_t extents[] = {count, columns};
  return heddle_bind_list(graph, name, HEDDLE_F32, 1, &address, &rank, extents);
}

} // namespace

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

Outcome compileForCpu() {
  Calls calls;
  Executable executable;
  calls("heddle_compile", heddle_compile("sgd", &cpu, &executable.handle));
  return calls.outcome;
}

Outcome inspectProgram() {
  Calls calls;
  Text plan, explanation;
  if (calls("heddle_emit", heddle_emit("clip_by_global_norm+sgd", "plan", &sm80,
                                       &plan.text, nullptr)))
    calls("heddle_explain", heddle_explain("sgd", "[[100], [3, 5]]", 1, &sm80,
                                           &explanation.text));
  return calls.outcome;
}

heddle_executable *cpuExecutable() {
  heddle_executable *executable = nullptr;
  heddle_compile("sgd", &cpu, &executable);
  return executable;
}

heddle_executable *cpuLoopExecutable() {
  heddle_executable *executable = nullptr;
  heddle_compile("sinkhorn", &cpu, &executable);
  return executable;
}

//===----------------------------------------------------------------------===//
// The cpu target
//===----------------------------------------------------------------------===//

static bool replayElementwise(Calls &calls, heddle_graph *graph, int64_t count,
                              double rate) {
  fill(0, 1);
  fill(1, 0.5);
  if (!calls("heddle_bind_list", bindOne(graph, "param", values[0], count)) ||
      !calls("heddle_bind_list", bindOne(graph, "grad", values[1], count)) ||
      !calls("heddle_set_scalar",
             heddle_set_scalar(graph, "lr", rate, nullptr)) ||
      !calls("heddle_prepare", heddle_prepare(graph, nullptr)) ||
      !calls("heddle_replay", heddle_replay(graph, nullptr)))
    return false;
  float expected = 1 - static_cast<float>(rate) * 0.5f;
  return calls.expect(std::fabs(values[0][0] - expected) < 1e-6f &&
                      std::fabs(values[0][count - 1] - expected) < 1e-6f);
}

static bool replayLoop(Calls &calls, heddle_graph *graph, int64_t rows) {
  for (int64_t k = 0; k < rows * rows; ++k)
    values[0][k] = static_cast<float>(k % 7) * 0.1f;
  for (int64_t k = 0; k < rows; ++k)
    values[1][k] = values[2][k] = 1.0f / static_cast<float>(rows);
  size_t members = 0;
  void *address = nullptr;
  int rank = 0;
  int64_t extents[2], stride = 0;
  double eps = 0;
  if (!calls("heddle_bind_list", bindOne(graph, "C", values[0], rows, rows)) ||
      !calls("heddle_bind_list", bindOne(graph, "a", values[1], rows)) ||
      !calls("heddle_bind_list", bindOne(graph, "b", values[2], rows)) ||
      !calls("heddle_replay", heddle_replay(graph, nullptr)) ||
      !calls("heddle_result_members",
             heddle_result_members(graph, "u", &members)) ||
      !calls("heddle_result_member",
             heddle_result_member(graph, "u", 0, &address, &rank, extents,
                                  &stride)) ||
      !calls("heddle_read_scalar",
             heddle_read_scalar(graph, "eps", &eps, nullptr)))
    return false;
  return calls.expect(members == 1 && rank == 1 && extents[0] == rows &&
                      eps > 0 &&
                      std::isfinite(static_cast<float *>(address)[0]));
}

Outcome runOnCpu(heddle_executable *elementwise, heddle_executable *loop) {
  Calls calls;
  Graph first, second;
  double seconds = 0;
  if (calls("heddle_graph_create",
            heddle_graph_create(elementwise, &first.handle)) &&
      replayElementwise(calls, first.handle, 1000, 0.25) &&
      replayElementwise(calls, first.handle, largest, 0.5) &&
      calls("heddle_measure", heddle_measure(first.handle, 1, 3, &seconds)) &&
      calls("heddle_graph_create", heddle_graph_create(loop, &second.handle)) &&
      replayLoop(calls, second.handle, 20))
    replayLoop(calls, second.handle, 50);
  return calls.outcome;
}

//===----------------------------------------------------------------------===//
// The cuda target
//===----------------------------------------------------------------------===//

static std::string quoted(const char *text) {
  std::string result = "\"";
  for (; *text; ++text) {
    if (*text == '\n') {
      result += "\\n";
      continue;
    }
    if (*text == '"' || *text == '\\')
      result += '\\';
    result += *text;
  }
  return result + '"';
}

/// A plan with the kernels of the stand-in driver and their source.
static std::string withSource(std::string text) {
  using namespace heddle::runtime::test;
  text.replace(text.rfind('}'), 1,
               ", \"source\": " + quoted(kernelSource) + ", \"headers\": {");
  for (const EmbeddedFile &file : deviceFiles)
    text += quoted(file.name) + ": " + quoted(file.contents) + ",";
  text.back() = '}';
  return text + "}";
}

const std::string &cudaPlan() {
  static const std::string plan = [] {
    std::string text = runtime::test::halvePlan;
    text.replace(text.find("VARIANTS"), 8, runtime::test::graphForm);
    return withSource(std::move(text));
  }();
  return plan;
}

Outcome loadPlan() {
  Calls calls;
  Executable executable;
  calls("heddle_load_plan",
        heddle_load_plan(cudaPlan().c_str(), &sm90, &executable.handle));
  return calls.outcome;
}

heddle_executable *cudaExecutable() {
  heddle_executable *executable = nullptr;
  heddle_load_plan(cudaPlan().c_str(), &device, &executable);
  return executable;
}

heddle_executable *cudaSumExecutable() {
  heddle_executable *executable = nullptr;
  heddle_load_plan(withSource(runtime::test::accumulatePlan).c_str(), &device,
                   &executable);
  return executable;
}

heddle_executable *cudaDistancesExecutable() {
  heddle_executable *executable = nullptr;
  heddle_load_plan(withSource(runtime::test::accumulateWithDistances()).c_str(),
                   &device, &executable);
  return executable;
}

static bool replayHalving(Calls &calls, heddle_graph *graph, heddle_memory *x,
                          heddle_memory *y, int64_t count, int limit) {
  fill(0, 32);
  void *result = heddle_memory_address(y);
  int rank = 1;
  if (!calls("heddle_memory_write",
             heddle_memory_write(x, 0, values[0], count * sizeof(float))) ||
      !calls("heddle_bind_list",
             bindOne(graph, "x", heddle_memory_address(x), count)) ||
      !calls("heddle_bind_result",
             heddle_bind_result(graph, "y", HEDDLE_F32, 1, &result, &rank,
                                &count)) ||
      !calls("heddle_set_scalar",
             heddle_set_scalar(graph, "limit", limit, nullptr)) ||
      !calls("heddle_replay", heddle_replay(graph, nullptr)) ||
      !calls("heddle_set_scalar",
             heddle_set_scalar(graph, "limit", limit + 1, nullptr)) ||
      !calls("heddle_replay", heddle_replay(graph, nullptr)) ||
      !calls("heddle_synchronize", heddle_synchronize(graph, nullptr)) ||
      !calls("heddle_memory_read",
             heddle_memory_read(y, 0, values[1], count * sizeof(float))))
    return false;
  // 32 is halved until it is at most 1, or limit + 1 times.
  float expected = std::max(1.0f, 32 / std::exp2f(limit + 1));
  return calls.expect(values[1][0] == expected &&
                      values[1][count - 1] == expected);
}

/// Adds lists at other addresses in each step.
static bool replaySums(Calls &calls, heddle_graph *graph, heddle_memory *x,
                       heddle_memory *g) {
  constexpr int64_t count = 100;
  fill(0, 1);
  for (float &element : values[1])
    element = static_cast<float>((&element - values[1]) / count);
  char *base = static_cast<char *>(heddle_memory_address(g));
  if (!calls("heddle_memory_write",
             heddle_memory_write(x, 0, values[0], count * sizeof(float))) ||
      !calls(
          "heddle_memory_write",
          heddle_memory_write(g, 0, values[1], 10 * count * sizeof(float))) ||
      !calls("heddle_bind_list",
             bindOne(graph, "x", heddle_memory_address(x), count)))
    return false;
  for (int step = 1; step < 8; ++step)
    if (!calls(
            "heddle_bind_list",
            bindOne(graph, "g", base + step * count * sizeof(float), count)) ||
        !calls("heddle_replay", heddle_replay(graph, nullptr)))
      return false;
  if (!calls("heddle_memory_read",
             heddle_memory_read(x, 0, values[2], count * sizeof(float))))
    return false;
  return calls.expect(values[2][0] == 29 && values[2][count - 1] == 29);
}

Outcome runOnCuda(heddle_executable *loop, heddle_executable *sum) {
  Calls calls;
  Memory x, y;
  Graph first, second;
  double seconds = 0;
  size_t bytes = largest * sizeof(float);
  if (calls("heddle_memory_create",
            heddle_memory_create(loop, bytes, &x.handle)) &&
      calls("heddle_memory_create",
            heddle_memory_create(loop, bytes, &y.handle)) &&
      calls("heddle_graph_create", heddle_graph_create(loop, &first.handle)) &&
      replayHalving(calls, first.handle, x.handle, y.handle, 100, 2) &&
      replayHalving(calls, first.handle, x.handle, y.handle, 10000, 9) &&
      replayHalving(calls, first.handle, x.handle, y.handle, 50, 1) &&
      calls("heddle_measure", heddle_measure(first.handle, 2, 2, &seconds)) &&
      calls("heddle_graph_create", heddle_graph_create(sum, &second.handle)))
    replaySums(calls, second.handle, x.handle, y.handle);
  // Handles in use are freed in the order that heddle.h asks for.
  heddle_graph_free(std::exchange(second.handle, nullptr));
  heddle_graph_free(std::exchange(first.handle, nullptr));
  return calls.outcome;
}

} // namespace heddle::test

//===- RuntimeLoopTests.cpp - Loops that run and stop on the device -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeHarness.h"
#include "runtime/support/Statistics.h"

#include <cmath>

namespace heddle::runtime::test {

struct LoopTest : RuntimeTest, testing::WithParamInterface<const char *> {
  void expectIterations(ProgramGraph &graph, int expected) {
    EXPECT_EQ(cantFail(graph.readScalar("iterations", stream.get())), expected);
  }
  float resultAt(ProgramGraph &graph, size_t member, size_t element) {
    std::vector<ResultMember> y = cantFail(graph.result("y"));
    float value = NAN;
    Context::Scope scope(*context);
    EXPECT_EQ(context->driver().cuMemcpyDtoH(
                  &value,
                  reinterpret_cast<CUdeviceptr>(
                      static_cast<float *>(y[member].address) + element),
                  4),
              CUDA_SUCCESS);
    return value;
  }
};

TEST_P(LoopTest, RunsAndStopsOnTheDevice) {
  std::unique_ptr<Graph> graph = graphOf(halve(GetParam()));
  DeviceList x(context, {9, 1}, 64);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph);
  expectIterations(*graph, 6);
  EXPECT_EQ(resultAt(*graph, 0, 8), 1);
  EXPECT_EQ(resultAt(*graph, 1, 0), 1);
  expectAll(x, 2, 64);

  uint64_t instantiations = statistics().graph_instantiations;
  for (int limit : {3, 1, 0, 6, 1000}) {
    ASSERT_TRUE(succeeded(graph->setScalar("limit", limit, stream.get())));
    replay(*graph);
    int iterations = std::min(limit, 6);
    expectIterations(*graph, iterations);
    EXPECT_EQ(resultAt(*graph, 0, 8), std::ldexp(64.f, -iterations));
  }
  // The loop goes on while one member is active.
  x.write(1, {4096});
  replay(*graph);
  expectIterations(*graph, 12);
  EXPECT_EQ(resultAt(*graph, 1, 0), 1);

  // Another model; the nodes of the body change, too.
  DeviceList more(context, {40, 3, 5, 0, 100000}, 16);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, more.members())));
  replay(*graph);
  expectIterations(*graph, 4);
  EXPECT_EQ(resultAt(*graph, 4, 99999), 1);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
}

TEST_P(LoopTest, SkipsInactiveMembers) {
  std::unique_ptr<Graph> graph = graphOf(halve(GetParam()));
  DeviceList x(context, {9, 1}, 64);
  x.write(1, {4096});
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  ASSERT_TRUE(succeeded(graph->setInactive("x", {false, true})));
  replay(*graph);
  expectIterations(*graph, 6);
  EXPECT_EQ(cantFail(graph->result("y"))[1].address, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Forms, LoopTest,
                         testing::Values(graphForm, cooperativeForm),
                         [](const auto &info) {
                           return info.index == 0 ? "Graph" : "Cooperative";
                         });

} // namespace heddle::runtime::test

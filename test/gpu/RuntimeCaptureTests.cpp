//===- RuntimeCaptureTests.cpp - Captures by the caller -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeHarness.h"
#include "runtime/support/Statistics.h"

namespace heddle::runtime::test {

struct CaptureTest : ByValueScalarTest {
  void begin() {
    ASSERT_EQ(context->driver().cuStreamBeginCapture(
                  stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
  }

  /// Ends the capture and launches the captured graph `times` times.
  void endAndRun(int times) {
    const Driver &driver = context->driver();
    Context::Scope scope(*context);
    CUgraph captured = nullptr;
    CUgraphExec executable = nullptr;
    ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
              CUDA_SUCCESS);
    for (int i = 0; i < times; ++i)
      ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
  }
};

TEST_F(CaptureTest, AddsTheStepToTheCapture) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  begin();
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  EXPECT_CONTAINS(failure(graph->setScalar("step", 2, stream.get())),
                  "before the capture");
  endAndRun(3);
  expectAll(x, 2, 6);
}

TEST_F(CaptureTest, CompilesTheKernelThatReadsAddresses) {
  auto compiled = [] {
    return statistics().compilations + statistics().cache_hits;
  };
  make();
  replay(*graph);
  uint64_t before = compiled();
  begin();
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  EXPECT_EQ(compiled(), before + 1);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  endAndRun(1);
  expectAll(*x, 3, 7);
  // A graph with new tables launches the kernel that is there.
  DeviceList other(context, {7}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, other.members())));
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  begin();
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  endAndRun(2);
  expectAll(other, 1, 3);
  EXPECT_EQ(compiled(), before + 1);
}

TEST_F(CaptureTest, ReadsScalarsFromTheirSlots) {
  make();
  replay(*graph);
  expectAll(*x, 3, 1);
  // Slots are stale when the capture begins. replay() writes them during the
  // capture.
  set("step", 3);
  set("by", 10);
  set("on", 1);
  replay(*graph);
  expectAll(*x, 3, 13);
  begin();
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  EXPECT_CONTAINS(failure(graph->setScalar("step", 2, stream.get())),
                  "before the capture");
  const Driver &driver = context->driver();
  CUgraph captured = nullptr;
  CUgraphExec executable = nullptr;
  Context::Scope scope(*context);
  ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  expectAll(*x, 3, 133);
  // The refused call changed nothing.
  EXPECT_EQ(cantFail(graph->readScalar("step", stream.get())), 3);
  // From now on, graph and captured graph read new values, in stream order.
  set("by", 0);
  ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
  set("by", 2);
  set("step", 1);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  set("step", 5);
  ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  expectAll(*x, 3, (3 * 2 + 1) * 2 + 5);
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
}

TEST_F(CaptureTest, ProgrammaticEdges) {
  std::unique_ptr<Graph> chain = graphOf(withKernels(chainPlan));
  DeviceList values(context, {10, 0, 5000}, 0);
  ASSERT_TRUE(succeeded(chain->bindList("x", DType::F32, values.members())));
  ASSERT_TRUE(succeeded(chain->prepare(stream.get())));
  ASSERT_TRUE(succeeded(chain->synchronize(stream.get())));
  uint64_t edges = statistics().programmatic_edges;
  begin();
  ASSERT_TRUE(succeeded(chain->replay(stream.get())));
  ASSERT_TRUE(succeeded(chain->replay(stream.get())));
  EXPECT_EQ(statistics().programmatic_edges, edges + 2 * context->canOverlap());
  endAndRun(20);
  expectAll(values, 3, 40);
}

TEST_F(CaptureTest, RefusesToPrepareInside) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  bindAdd(*graph, x, count);
  begin();
  EXPECT_CONTAINS(failure(graph->replay(stream.get())),
                  "call prepare before the capture begins");
  EXPECT_CONTAINS(failure(graph->prepare(stream.get())), "before the capture");
  endAndRun(1);
  expectAll(x, 2, 0);
}

TEST_F(CaptureTest, LoopsUseTheirCooperativeForm) {
  std::unique_ptr<Graph> both =
      graphOf(halve(std::string(graphForm) + ", " + cooperativeForm));
  std::unique_ptr<Graph> one = graphOf(halve(graphForm));
  DeviceList x(context, {9, 1}, 64);
  for (Graph *graph : {both.get(), one.get()}) {
    ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
    ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
    ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  }
  begin();
  ASSERT_TRUE(succeeded(both->replay(stream.get())));
  EXPECT_CONTAINS(failure(one->replay(stream.get())),
                  "a loop inside a stream capture needs a cooperative kernel");
  endAndRun(2);
  EXPECT_EQ(cantFail(both->readScalar("iterations", stream.get())), 6);
}

} // namespace heddle::runtime::test

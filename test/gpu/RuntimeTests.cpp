//===- RuntimeTests.cpp - Graphs on a device ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs hand-written plans and kernels on a GPU, without a compiler. The unit
// tests run the same files over a stand-in driver
// (test/unit/runtime/StandInDriver.cpp).
//
//===----------------------------------------------------------------------===//

#include "RuntimeHarness.h"
#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/heddle.hpp"
#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <chrono>
#include <cmath>

namespace heddle::runtime::test {

TEST_F(RuntimeTest, ReplaysWithChangingScalars) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 0, 1, 4, 129}, 0),
      count(context, {1, 1, 1, 1, 1}, 0);
  bindAdd(*graph, x, count);
  replay(*graph);
  expectAll(x, 5, 1);
  expectAll(count, 5, 1);
  uint64_t compilations = statistics().compilations,
           instantiations = statistics().graph_instantiations,
           prepares = statistics().prepares, copies = statistics().table_copies;
  float expected = 1;
  for (double step : {0.5, -2.0, 4.25}) {
    ASSERT_TRUE(succeeded(graph->setScalar("step", step, stream.get())));
    replay(*graph, 3);
    expected += 3 * static_cast<float>(step);
    expectAll(x, 5, expected);
  }
  EXPECT_EQ(cantFail(graph->readScalar("step", stream.get())), 4.25);
  EXPECT_EQ(statistics().compilations, compilations);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
  EXPECT_EQ(statistics().prepares, prepares);
  EXPECT_EQ(statistics().table_copies, copies);
}

TEST_F(RuntimeTest, RebindsWithoutInstantiating) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  bindAdd(*graph, x, count);
  replay(*graph);
  uint64_t instantiations = statistics().graph_instantiations,
           updates = statistics().graph_node_updates,
           compilations = statistics().compilations,
           allocations = statistics().allocations;

  // The same extents at other addresses: only the tables change.
  DeviceList other(context, {10, 3}, 5);
  allocations = statistics().allocations;
  bindAdd(*graph, other, count);
  replay(*graph);
  expectAll(x, 2, 1);
  expectAll(other, 2, 6);
  EXPECT_EQ(statistics().graph_node_updates, updates);
  EXPECT_EQ(statistics().allocations, allocations);

  // Another model: another grid, and then the other variant.
  DeviceList larger(context, {10, 3, 50}, 0), counts(context, {1, 1, 1}, 0);
  bindAdd(*graph, larger, counts);
  replay(*graph);
  expectAll(larger, 3, 1);
  EXPECT_EQ(statistics().graph_node_updates, updates + 1);
  DeviceList largest(context, {10, 3, 5000, 0, 7}, 0),
      all(context, {1, 1, 1, 1, 1}, 0);
  bindAdd(*graph, largest, all);
  uint64_t expansions = statistics().table_expansions;
  replay(*graph);
  // That variant reads no tile descriptors.
  EXPECT_EQ(statistics().table_expansions, expansions);
  expectAll(largest, 5, 1);
  expectAll(all, 5, 1);

  // An empty model, and the first one again.
  bindAdd(*graph, DeviceList(context, {}, 0), DeviceList(context, {}, 0));
  replay(*graph);
  bindAdd(*graph, x, count);
  replay(*graph);
  expectAll(x, 2, 2);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
  // At most the built-in kernels were compiled.
  EXPECT_LE(statistics().compilations, compilations + 1);
}

TEST_F(RuntimeTest, SkipsInactiveMembers) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3, 9}, 0), count(context, {1, 1, 1}, 0);
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(graph->setInactive("x", {false, true, false})));
  replay(*graph, 2);
  EXPECT_EQ(x.read(0), std::vector<float>(10, 2));
  EXPECT_EQ(x.read(1), std::vector<float>(3, 0));
  EXPECT_EQ(count.read(1), std::vector<float>(1, 0));
  EXPECT_EQ(x.read(2), std::vector<float>(9, 2));
}

TEST_F(RuntimeTest, ReadsBoundScalars) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10}, 0), count(context, {1}, 0);
  DeviceMemory step = cantFail(DeviceMemory::allocate(context, 8));
  auto write = [&](double value) {
    Context::Scope scope(*context);
    ASSERT_EQ(context->driver().cuMemcpyHtoD(
                  reinterpret_cast<CUdeviceptr>(step.address()), &value, 8),
              CUDA_SUCCESS);
  };
  bindAdd(*graph, x, count);
  // Set a scalar before the first prepare.
  ASSERT_TRUE(succeeded(graph->setScalar("step", 3, stream.get())));
  replay(*graph);
  expectAll(x, 1, 3);
  write(10);
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, step.address())));
  replay(*graph);
  expectAll(x, 1, 13);
  write(100);
  replay(*graph);
  expectAll(x, 1, 113);
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, nullptr)));
  replay(*graph);
  expectAll(x, 1, 116);
}

struct ExpansionTest : RuntimeTest, testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Aligned, ExpansionTest, testing::Values(false, true),
                         [](const auto &info) {
                           return info.param ? "Shifted" : "Unshifted";
                         });

TEST_P(ExpansionTest, ExpandsTilesAsTheHostDoes) {
  Plan plan = withKernels(addPlan);
  plan.tables[0].segments[0].alignTiles = GetParam();
  DescriptorLayout layout(plan.tables[0]);
  std::vector<MemberDescriptor> members(3);
  char *somewhere = reinterpret_cast<char *>(uintptr_t(1) << 40);
  std::vector<int64_t> counts = {1000, 0, 7},
                       steps = segmentSteps(plan, plan.tables[0]);
  std::vector<char> descriptors;
  int tiles = 0;
  for (auto [index, member] : enumerate(members)) {
    member.operands = {
        index == 1 ? nullptr : somewhere + 4096 * index + 4 * (index + 1) % 16,
        somewhere};
    member.count = counts[index];
    member.firstTile = tiles;
    int64_t shift = alignmentShift(steps, member.operands, member.count);
    if (!GetParam())
      EXPECT_EQ(shift, 0);
    else
      EXPECT_EQ(shift, index == 0 ? 1 : index == 2 ? 3 : 0);
    member.tiles = static_cast<int>(tilesOf(member.count + shift, 4));
    member.index = static_cast<int>(index) + 5;
    tiles += member.tiles;
    descriptors.resize(descriptors.size() + layout.bytes());
    writeMemberDescriptor(layout, member,
                          descriptors.data() + index * layout.bytes());
  }
  std::vector<char> host(layout.bytes() * tiles), device(host.size(), 0);
  expandTiles(layout, descriptors.data(), 3, steps, host.data(), tiles);

  DeviceMemory memory = cantFail(
      DeviceMemory::allocate(context, descriptors.size() + host.size() + 1024));
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  char *deviceMembers = memory.address(),
       *deviceSteps = deviceMembers + alignUp(descriptors.size()),
       *deviceTiles = deviceSteps + 256;
  auto address = [](char *pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
  };
  ASSERT_EQ(driver.cuMemcpyHtoD(address(deviceMembers), descriptors.data(),
                                descriptors.size()),
            CUDA_SUCCESS);
  ASSERT_EQ(
      driver.cuMemcpyHtoD(address(deviceSteps), steps.data(), steps.size() * 8),
      CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemsetD8Async(address(deviceTiles), 0, device.size(),
                                   stream.get()),
            CUDA_SUCCESS);
  Launch launch;
  launch.add(deviceMembers);
  launch.add(deviceTiles);
  launch.add(deviceSteps);
  launch.add(layout.pointers);
  launch.add(layout.rank);
  launch.add(3);
  launch.add(tiles);
  CUlaunchConfig config = {};
  config.gridDimX = (tiles + 255) / 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 256;
  config.hStream = stream.get();
  std::vector<void *> pointers = launch.pointers();
  ASSERT_EQ(driver.cuLaunchKernelEx(
                &config,
                cantFail(builtinFunction(context, "heddle_expand_tiles")),
                pointers.data(), nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
  ASSERT_EQ(
      driver.cuMemcpyDtoH(device.data(), address(deviceTiles), device.size()),
      CUDA_SUCCESS);
  EXPECT_EQ(host, device);
}

TEST_F(RuntimeTest, ChoosesVariantsByL2Size) {
  // The element operands take (10 + 3) * 4 bytes.
  double part = 52.0 / static_cast<double>(context->l2Bytes());
  for (double factor : {part * 1.001, part * 0.999}) {
    Plan plan = withKernels(addPlan);
    plan.graph.nodes[0].variants[0].maxTiles.reset();
    plan.graph.nodes[0].variants[0].fitsL2 = factor;
    std::unique_ptr<Graph> graph = graphOf(plan);
    DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
    bindAdd(*graph, x, count);
    uint64_t expansions = statistics().table_expansions;
    replay(*graph);
    expectAll(x, 2, 1);
    // The variant for lists that do not fit reads no tile descriptors.
    EXPECT_EQ(statistics().table_expansions, expansions + (factor > part));
    // Inactive members do not count.
    ASSERT_TRUE(succeeded(graph->setInactive("x", {true, false})));
    expansions = statistics().table_expansions;
    replay(*graph);
    EXPECT_EQ(statistics().table_expansions, expansions + 1);
  }
}

TEST_F(RuntimeTest, FillsWithNumbers) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(fillPlan));
  DeviceList x(context, {1, 7, 20000}, 0), a(context, {1, 7, 20000}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  ASSERT_TRUE(succeeded(graph->bindResult("a", DType::F32, a.members())));
  replay(*graph);
  expectAll(a, 3, INFINITY);
  EXPECT_EQ(cantFail(graph->readScalar("c", stream.get())), 0.1);
  EXPECT_EQ(cantFail(graph->readScalar("d", stream.get())), -INFINITY);
  std::vector<ResultMember> b = cantFail(graph->result("b"));
  for (const ResultMember &member : b) {
    std::vector<int16_t> values(member.extents[0]);
    Context::Scope scope(*context);
    ASSERT_EQ(context->driver().cuMemcpyDtoH(
                  values.data(), reinterpret_cast<CUdeviceptr>(member.address),
                  values.size() * 2),
              CUDA_SUCCESS);
    EXPECT_EQ(values, std::vector<int16_t>(values.size(), -3));
  }
}

//===----------------------------------------------------------------------===//
// Programmatic edges
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, ProgrammaticEdges) {
  uint64_t edges = statistics().programmatic_edges;
  std::unique_ptr<Graph> graph = graphOf(withKernels(chainPlan));
  DeviceList x(context, {10, 0, 5000}, 0), none(context, {}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph, 50);
  expectAll(x, 3, 50);
  bool early = context->canOverlap();
  EXPECT_EQ(statistics().programmatic_edges, edges + early);
  // A kernel without work has no programmatic edge.
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, none.members())));
  replay(*graph);
  EXPECT_EQ(statistics().programmatic_edges, edges + early);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph);
  expectAll(x, 3, 51);
  EXPECT_EQ(statistics().programmatic_edges, edges + 2 * early);
  // Other grids keep their edges.
  uint64_t instantiations = statistics().graph_instantiations;
  DeviceList larger(context, {100000, 3}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, larger.members())));
  replay(*graph, 5);
  expectAll(larger, 2, 5);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
}

TEST_F(RuntimeTest, EndsOfMembersInALaunchOfTheirOwn) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(sumPlan));
  auto sums = [&](const DeviceList &x, const DeviceList &sum, size_t count) {
    EXPECT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
    EXPECT_TRUE(
        succeeded(graph->bindList("sum", DType::F32, sum.members(true))));
    replay(*graph);
    EXPECT_EQ(cantFail(graph->readScalar("members", nullptr)), count);
    std::vector<float> result;
    for (size_t member = 0; member < count; ++member)
      result.push_back(sum.read(member)[0]);
    return result;
  };
  DeviceList sum(context, {1, 1, 1}, -1), none(context, {}, 0);
  std::vector<size_t> sizes = {10, 0, 5000};
  EXPECT_EQ(sums(DeviceList(context, sizes, 1), sum, 3),
            (std::vector<float>{10, 0, 5000}));
  // Other gradients, other members, no members, and members again.
  DeviceList moved(context, sizes, 2), fewer(context, {129, 3}, 1),
      two(context, {1, 1}, -1);
  EXPECT_EQ(sums(moved, sum, 3), (std::vector<float>{20, 0, 10000}));
  EXPECT_EQ(sums(fewer, two, 2), (std::vector<float>{129, 3}));
  EXPECT_EQ(sums(none, none, 0), std::vector<float>());
  EXPECT_EQ(sums(moved, sum, 3), (std::vector<float>{20, 0, 10000}));
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, RefusesHostMemory) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  std::vector<ListMember> members = x.members();
  std::vector<float> onHost(3, 7);
  members[1].data = onHost.data();
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, members)));
  ASSERT_TRUE(
      succeeded(graph->bindList("count", DType::F32, count.members(true))));
  EXPECT_CONTAINS(
      failure(graph->replay(stream.get())),
      "argument 'x', member 1: expected a device address, found host address");
  double step = 1;
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, &step)));
  EXPECT_CONTAINS(failure(graph->replay(stream.get())),
                  "argument 'step': expected a device address");
  expectAll(x, 2, 0);
  expectAll(count, 2, 0);
  EXPECT_EQ(onHost[0], 7);
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, nullptr)));
  replay(*graph);
  expectAll(x, 2, 1);
}

TEST_F(RuntimeTest, NamesMissingKernels) {
  Plan plan = withKernels(addPlan);
  plan.graph.nodes[0].variants[0].entry = "add_tile";
  std::unique_ptr<Graph> graph = graphOf(plan);
  DeviceList x(context, {10}, 0), count(context, {1}, 0);
  bindAdd(*graph, x, count);
  EXPECT_CONTAINS(failure(graph->replay(stream.get())),
                  "the plan's source has no kernel 'add_tile'");
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, HostTimeOfAReplay) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  std::vector<size_t> sizes(580, 100), ones(580, 1);
  DeviceList x(context, sizes, 0), count(context, ones, 0);
  bindAdd(*graph, x, count);
  replay(*graph, 10);
  constexpr int batches = 20, times = 50;
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(succeeded(graph->replay(stream.get())));
    auto elapsed = std::chrono::duration<double, std::micro>(
                       std::chrono::steady_clock::now() - begin)
                       .count();
    best = std::min(best, elapsed / times);
    ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  }
  RecordProperty("host_us_per_replay", std::to_string(best));
  printf("host time of a replay: %.2f us\n", best);
  EXPECT_LE(best, standIn() ? 1000 : 10);
  auto begin = std::chrono::steady_clock::now();
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  printf("rebinding 580 + 580 tensors: %.0f us\n",
         std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - begin)
             .count());
}

TEST_F(RuntimeTest, WarmLoad) {
  Plan plan = withKernels(addPlan);
  compile(plan);
  auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<Executable> executable = compile(plan);
  cantFail(executable->kernels()->load(context));
  double milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - begin)
                            .count();
  printf("from the cache to a loaded module: %.2f ms\n", milliseconds);
  EXPECT_LE(milliseconds, 20);
}

//===----------------------------------------------------------------------===//
// The C interface, through heddle.hpp
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, WorksThroughTheHeader) {
  std::string plan = formatv("{0}", planToJSON(withKernels(addPlan))).str();
  auto executable = heddle::Executable::fromPlan(plan);
  ASSERT_TRUE(executable) << executable.error();
  EXPECT_EQ(executable->arch(), context->arch());
  ASSERT_EQ(executable->arguments().size(), 3u);
  EXPECT_EQ(executable->arguments()[2].name, std::string("step"));
  auto graph = heddle::Graph::create(*executable);
  ASSERT_TRUE(graph) << graph.error();
  auto memory = heddle::Memory::create(*executable, 1024);
  ASSERT_TRUE(memory) << memory.error();
  std::vector<float> values(100, 1), zero(1, 0);
  ASSERT_TRUE(memory->write(0, values.data(), 400));
  ASSERT_TRUE(memory->write(512, zero.data(), 4));
  char *base = static_cast<char *>(memory->address());
  ASSERT_TRUE(graph->bindList("x", HEDDLE_F32, {{base, {10, 10}}}));
  ASSERT_TRUE(graph->bindList("count", HEDDLE_F32, {{base + 512, {}}}));
  ASSERT_TRUE(graph->setScalar("step", 2));
  heddle::Status status = graph->replay();
  ASSERT_TRUE(status) << status.error();
  ASSERT_TRUE(graph->replay());
  ASSERT_TRUE(graph->synchronize());
  ASSERT_TRUE(memory->read(0, values.data(), 400));
  EXPECT_EQ(values, std::vector<float>(100, 5));
  auto seconds = graph->measure(5, 3);
  ASSERT_TRUE(seconds) << seconds.error();
  EXPECT_GT(*seconds, 0);
  status = graph->bindList("y", HEDDLE_F32, {});
  EXPECT_FALSE(status);
  EXPECT_EQ(status.code(), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(status.error(), "argument 'y'");
}

} // namespace heddle::runtime::test

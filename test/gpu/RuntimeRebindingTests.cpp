//===- RuntimeRebindingTests.cpp - New addresses in every step ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list that is bound to other addresses with the same shapes costs one launch
// or new parameters, and gives the results of a fresh graph. Everything else
// takes the general path.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHarness.h"
#include "runtime/support/Statistics.h"

#ifdef HEDDLE_STAND_IN_DRIVER
#include "StandInDriver.h"

#include <dlfcn.h>
#endif

#include <chrono>
#include <random>

namespace heddle::runtime::test {

namespace {

/// The parameter: whether the kernel takes distances, so that most new
/// addresses change no descriptor.
struct RebindingTest : RuntimeTest, testing::WithParamInterface<bool> {
  std::unique_ptr<Graph> graph;
  std::vector<size_t> sizes = {10, 0, 3, 129};

  void make(const DeviceList &x, const DeviceList &g) {
    graph = graphOf(accumulate());
    bind(x, g);
    replay(*graph);
  }
  static Plan accumulate() {
    return withKernels(GetParam() ? accumulateWithDistances() : accumulatePlan);
  }
  void bind(const DeviceList &x, const DeviceList &g) {
    ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
    ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, g.members())));
  }
  DeviceList list(float value) { return DeviceList(context, sizes, value); }
};

/// The changes of some counters since the object was made.
struct Counted {
  uint64_t prepares = statistics().prepares,
           rebindings = statistics().rebindings,
           copies = statistics().table_copies,
           expansions = statistics().table_expansions;

  void expect(uint64_t newPrepares, uint64_t newRebindings) {
    EXPECT_EQ(statistics().prepares - prepares, newPrepares);
    EXPECT_EQ(statistics().rebindings - rebindings, newRebindings);
    // A rebinding copies and expands nothing.
    EXPECT_EQ(statistics().table_copies - copies, newPrepares);
    EXPECT_EQ(statistics().table_expansions - expansions, newPrepares);
    *this = Counted();
  }
};

TEST_P(RebindingTest, EqualAddressesChangeNothing) {
  DeviceList x = list(0), g = list(1);
  make(x, g);
  Counted counted;
  bind(x, g);
  ASSERT_TRUE(succeeded(graph->setInactive("x", {})));
  replay(*graph);
  counted.expect(0, 0);
  expectAll(x, 4, 2);
}

TEST_P(RebindingTest, WritesNewAddressesOnly) {
  DeviceList x = list(0), g = list(1), other = list(10);
  make(x, g);
  Counted counted;
  uint64_t instantiations = statistics().graph_instantiations,
           updates = statistics().graph_node_updates,
           allocations = statistics().allocations;
  float expected = 1;
  for (int step = 0; step < 20; ++step) {
    bind(x, step % 2 ? g : other);
    replay(*graph);
    expected += step % 2 ? 1 : 10;
    counted.expect(0, 1);
    expectAll(x, 4, expected);
  }
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
  EXPECT_EQ(statistics().graph_node_updates, updates);
  EXPECT_EQ(statistics().allocations, allocations);
}

TEST_P(RebindingTest, OneAddressOfMany) {
  DeviceList x = list(0), g = list(1), other = list(5);
  make(x, g);
  std::vector<ListMember> mixed = g.members();
  mixed[2] = other.members()[2];
  ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, mixed)));
  Counted counted;
  replay(*graph);
  counted.expect(0, 1);
  EXPECT_EQ(x.read(0), std::vector<float>(10, 2));
  EXPECT_EQ(x.read(2), std::vector<float>(3, 6));
  // There and back before a step: nothing is to be done.
  bind(x, g);
  ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, mixed)));
  replay(*graph);
  counted.expect(0, 0);
  EXPECT_EQ(x.read(2), std::vector<float>(3, 11));
}

/// More members than one launch moves, with more than one tile.
TEST_P(RebindingTest, ManyMembers) {
  std::mt19937 random(3);
  sizes.clear();
  for (int member = 0; member < 1500; ++member)
    sizes.push_back(random() % 20 ? random() % 30 : random() % 5000);
  DeviceList x = list(0), g = list(1), other = list(10);
  make(x, g);
  std::vector<float> expected(sizes.size(), 1);
  for (unsigned share : {1, 2, 100, 1499}) {
    std::vector<ListMember> mixed = g.members();
    for (size_t member = 0; member < sizes.size(); ++member) {
      bool moves = random() % share == 0 && sizes[member] > 0;
      if (moves)
        mixed[member] = other.members()[member];
      expected[member] += moves ? 10 : 1;
    }
    ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, mixed)));
    Counted counted;
    replay(*graph);
    counted.expect(0, 1);
    for (size_t member = 0; member < sizes.size(); ++member)
      ASSERT_EQ(x.read(member),
                std::vector<float>(sizes[member], expected[member]))
          << "member " << member << ", one of " << share;
  }
}

TEST_P(RebindingTest, InactiveMembersMayMove) {
  DeviceList x = list(0), g = list(1), other = list(2);
  make(x, g);
  ASSERT_TRUE(succeeded(graph->setInactive("g", {false, false, true, false})));
  replay(*graph);
  Counted counted;
  bind(x, other);
  replay(*graph);
  counted.expect(0, 1);
  EXPECT_EQ(x.read(0), std::vector<float>(10, 4));
  EXPECT_EQ(x.read(2), std::vector<float>(3, 1));
  // The member becomes active with its new address.
  ASSERT_TRUE(succeeded(graph->setInactive("g", {})));
  replay(*graph);
  counted.expect(1, 0);
  EXPECT_EQ(x.read(2), std::vector<float>(3, 3));
}

TEST_P(RebindingTest, ReportsMistakesAsTheGeneralPathDoes) {
  DeviceList x = list(0), g = list(1), other = list(2);
  make(x, g);
  auto fails = [&](size_t member, void *address, StringRef message) {
    std::vector<ListMember> wrong = other.members();
    wrong[member].data = address;
    ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, wrong)));
    for (int times = 0; times < 2; ++times) {
      std::string found = failure(graph->replay(stream.get()));
      EXPECT_CONTAINS(found, message.str());
      EXPECT_CONTAINS(found, "argument 'g', member " + std::to_string(member));
    }
    // A fresh graph says the same.
    std::unique_ptr<Graph> fresh = graphOf(accumulate());
    ASSERT_TRUE(succeeded(fresh->bindList("x", DType::F32, x.members())));
    ASSERT_TRUE(succeeded(fresh->bindList("g", DType::F32, wrong)));
    EXPECT_EQ(failure(graph->prepare(stream.get())),
              failure(fresh->prepare(stream.get())));
    ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, g.members())));
    replay(*graph);
  };
  fails(0, nullptr, "found null");
  fails(0, g.address(0) + 2, "aligned to 4 bytes");
  std::vector<float> host(200);
  fails(3, host.data(), "expected a device address");
  // Overlaps: the same memory, its last byte, the bytes around it.
  fails(0, x.address(0), "because it is written");
  fails(2, x.address(3) + 128 * 4, "because it is written");
  fails(3, x.address(0), "because it is written");
  fails(3, x.address(2) - 4, "because it is written");
  expectAll(x, 4, 8);
}

TEST_P(RebindingTest, OtherChangesNeedALayout) {
  DeviceList x = list(0), g = list(1), otherX = list(100), otherG = list(2);
  make(x, g);
  Counted counted;
  // A list that is written.
  bind(otherX, otherG);
  replay(*graph);
  counted.expect(1, 0);
  expectAll(otherX, 4, 102);
  // The checks of the next step use the new list.
  bind(otherX, x);
  replay(*graph);
  counted.expect(0, 1);
  expectAll(otherX, 4, 103);
  std::vector<ListMember> wrong = g.members();
  wrong[0] = otherX.members()[0];
  ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, wrong)));
  EXPECT_CONTAINS(failure(graph->replay(stream.get())), "found an overlap");
  bind(otherX, g);
  replay(*graph);
  expectAll(otherX, 4, 104);

  // Another alignment, and the same one at another address.
  DeviceList wide(context, {200, 200, 200, 200}, 7),
      wider(context, {200, 200, 200, 200}, 8);
  auto at = [&](DeviceList &from, size_t offset) {
    std::vector<ListMember> members = g.members();
    for (size_t member : {0, 2, 3})
      members[member].data = from.address(member) + offset;
    return members;
  };
  counted = Counted();
  ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, at(wide, 4))));
  replay(*graph);
  counted.expect(1, 0);
  ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, at(wider, 4))));
  replay(*graph);
  counted.expect(0, 1);
  ASSERT_TRUE(succeeded(graph->bindList("g", DType::F32, at(wider, 20))));
  replay(*graph);
  counted.expect(0, 1);
  expectAll(otherX, 4, 104 + 7 + 8 + 8);

  // Other shapes, and back.
  DeviceList small(context, {4, 5}, 0), step(context, {4, 5}, 3);
  bind(small, step);
  replay(*graph);
  counted.expect(1, 0);
  expectAll(small, 2, 3);
  bind(otherX, g);
  replay(*graph);
  counted.expect(1, 0);
  bind(otherX, otherG);
  replay(*graph);
  counted.expect(0, 1);
  expectAll(otherX, 4, 104 + 7 + 8 + 8 + 1 + 2);
}

TEST_P(RebindingTest, CopiedListsNeedALayout) {
  std::unique_ptr<Graph> graph = graphOf(halve(graphForm));
  DeviceList x(context, {10, 3}, 8), other(context, {10, 3}, 5);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph);
  Counted counted;
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, other.members())));
  replay(*graph);
  counted.expect(1, 0);
  float first = 0;
  std::vector<ResultMember> y = cantFail(graph->result("y"));
  Context::Scope scope(*context);
  ASSERT_EQ(context->driver().cuMemcpyDtoH(
                &first, reinterpret_cast<CUdeviceptr>(y[0].address), 4),
            CUDA_SUCCESS);
  EXPECT_EQ(first, 0.625f);
}

TEST_P(RebindingTest, ACaptureNeedsAPrepare) {
  DeviceList x = list(0), g = list(1), other = list(10);
  make(x, g);
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  ASSERT_EQ(driver.cuStreamBeginCapture(stream.get(),
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  bind(x, other);
  EXPECT_CONTAINS(failure(graph->replay(stream.get())), "before the capture");
  EXPECT_CONTAINS(failure(graph->prepare(stream.get())), "before the capture");
  // The addresses of the last prepare need none.
  bind(x, g);
  CUgraph captured = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
  bind(x, other);
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  ASSERT_EQ(driver.cuStreamBeginCapture(stream.get(),
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  bind(x, other);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
            CUDA_SUCCESS);
  // The captured graph reads the tables: it follows later bindings.
  auto launch = [&] {
    ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
  };
  launch();
  expectAll(x, 4, 11);
  bind(x, g);
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  launch();
  expectAll(x, 4, 12);
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
}

/// Binds lists in a random order, and compares each step with one of a fresh
/// graph.
TEST_P(RebindingTest, RandomSequencesEqualFreshGraphs) {
  std::mt19937 random(7);
  auto draw = [&](size_t below) { return random() % below; };
  std::vector<std::vector<size_t>> shapes = {
      {10, 0, 3, 129}, {10, 0, 3, 130}, {4, 4, 4, 4}, {5}};
  std::vector<std::vector<DeviceList>> xs, gs;
  for (const std::vector<size_t> &shape : shapes) {
    std::vector<DeviceList> &x = xs.emplace_back(), &g = gs.emplace_back();
    for (int copy = 0; copy < 2; ++copy)
      x.emplace_back(context, shape, 0);
    for (int copy = 0; copy < 5; ++copy)
      g.emplace_back(context, shape, 0);
    for (DeviceList &list : g)
      for (size_t member = 0; member < shape.size(); ++member) {
        std::vector<float> values(shape[member]);
        for (float &value : values)
          value = static_cast<float>(draw(1000)) * 0.1f;
        list.write(member, values);
      }
  }
  graph = graphOf(accumulate());
  uint64_t rebindings = statistics().rebindings;
  size_t shape = 0;
  for (int step = 0; step < 150; ++step) {
    if (draw(8) == 0)
      shape = draw(shapes.size());
    DeviceList &x = xs[shape][draw(10) == 0];
    size_t members = shapes[shape].size();
    // Each member comes from another list.
    std::vector<ListMember> g = gs[shape][0].members();
    for (size_t member = 0; member < members; ++member)
      g[member] = gs[shape][draw(5)].members()[member];
    SmallVector<bool> mask(members);
    if (draw(4) == 0)
      mask[draw(members)] = true;
    auto bindTo = [&](Graph &to) {
      ASSERT_TRUE(succeeded(to.bindList("x", DType::F32, x.members())));
      ASSERT_TRUE(succeeded(to.bindList("g", DType::F32, g)));
      ASSERT_TRUE(succeeded(to.setInactive("x", mask)));
    };
    auto contents = [&] {
      std::vector<std::vector<float>> all;
      for (size_t member = 0; member < members; ++member)
        all.push_back(x.read(member));
      return all;
    };
    auto before = contents();
    bindTo(*graph);
    replay(*graph);
    auto found = contents();
    for (size_t member = 0; member < members; ++member)
      x.write(member, before[member]);
    std::unique_ptr<Graph> fresh = graphOf(accumulate());
    bindTo(*fresh);
    replay(*fresh);
    ASSERT_EQ(found, contents()) << "step " << step;
  }
  EXPECT_GT(statistics().rebindings - rebindings, 20u);
}

TEST_P(RebindingTest, HostTimeOfNewAddresses) {
  sizes.assign(580, 100);
  DeviceList x = list(0), g = list(1), other = list(2);
  make(x, g);
  std::vector<ListMember> lists[] = {g.members(), other.members()};
  TensorList tensors[] = {TensorList(lists[0]), TensorList(lists[1])};
  auto measure = [&](const char *name, auto addresses) {
    double best = 1e9;
    for (int batch = 0; batch < 20; ++batch) {
      constexpr int times = 20;
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < times; ++i) {
        ASSERT_TRUE(succeeded(
            graph->bindList("g", DType::F32, tensors[addresses(i)].arrays())));
        ASSERT_TRUE(succeeded(graph->replay(stream.get())));
      }
      double elapsed = std::chrono::duration<double, std::micro>(
                           std::chrono::steady_clock::now() - begin)
                           .count();
      best = std::min(best, elapsed / times);
      ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
    }
    printf("host time with %s addresses of 580 tensors: %.2f us\n", name, best);
    RecordProperty(std::string("host_us_") + name, std::to_string(best));
    EXPECT_LE(best, standIn() ? 10000 : 60); // 12 to 31 on three machines
  };
  measure("the same", [](int) { return 0; });
  measure("new", [](int step) { return step % 2; });
}

#ifdef HEDDLE_STAND_IN_DRIVER
template <typename Function> Function *standInFunction(const char *name) {
  void *library = dlopen(HEDDLE_STAND_IN_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function *>(dlsym(library, name));
}

TEST_P(RebindingTest, CallsOfTheDriver) {
  auto *callsOf = standInFunction<decltype(heddle_stand_in_calls_of)>(
      "heddle_stand_in_calls_of");
  DeviceList x = list(0), g = list(1), other = list(10);
  make(x, g);
  bind(x, other); // the first time, the kernel is found
  replay(*graph);
  const char *functions[] = {"cuLaunchKernelEx",
                             "cuMemcpyHtoDAsync",
                             "cuGraphLaunch",
                             "cuPointerGetAttributes",
                             "cuMemsetD8Async",
                             "cuStreamSynchronize",
                             "cuEventSynchronize",
                             "cuMemAlloc",
                             "cuGraphInstantiateWithFlags",
                             "cuGraphExecKernelNodeSetParams"};
  auto calls = [&](const DeviceList &bound) {
    std::vector<long> counts;
    for (const char *function : functions)
      counts.push_back(callsOf(function));
    bind(x, bound);
    EXPECT_TRUE(succeeded(graph->replay(stream.get())));
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] = callsOf(functions[i]) - counts[i];
    return counts;
  };
  EXPECT_EQ(calls(other), (std::vector<long>{0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  // One kernel writes descriptors, or one node has new parameters.
  std::vector<long> moved =
      GetParam() ? std::vector<long>{0, 0, 1, 0, 0, 0, 0, 0, 0, 1}
                 : std::vector<long>{1, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(calls(g), moved);
  EXPECT_EQ(calls(other), moved);
  // An allocation that was not seen before is asked for once.
  DeviceList unseen = list(3);
  ++moved[3];
  EXPECT_EQ(calls(unseen), moved);
  --moved[3];
  EXPECT_EQ(calls(g), moved);
  EXPECT_EQ(calls(unseen), moved);
}

/// Ten steps are submitted before the first one runs.
TEST_P(RebindingTest, NeverChangesASubmittedStep) {
  auto *defer =
      standInFunction<decltype(heddle_stand_in_defer)>("heddle_stand_in_defer");
  DeviceList x = list(0);
  std::vector<DeviceList> g;
  float expected = 0;
  for (int step = 0; step < 10; ++step) {
    g.push_back(list(static_cast<float>(step * step + 1)));
    expected += static_cast<float>(step * step + 1);
  }
  make(x, g[0]);
  defer(1);
  for (int step = 1; step < 10; ++step) {
    bind(x, g[step]);
    ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  }
  expectAll(x, 4, 1); // nothing has run
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  defer(0);
  expectAll(x, 4, expected);
}

/// A capture writes addresses into descriptors that submitted steps read.
TEST_P(RebindingTest, ACaptureWaitsForSubmittedSteps) {
  auto *defer =
      standInFunction<decltype(heddle_stand_in_defer)>("heddle_stand_in_defer");
  DeviceList x = list(0), g = list(1), other = list(10);
  make(x, g);
  defer(1);
  replay(*graph);
  bind(x, other);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  ASSERT_EQ(driver.cuStreamBeginCapture(stream.get(),
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  CUgraph captured = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  defer(0);
  expectAll(x, 4, 1 + 1 + 10 + 10);
}
#endif

INSTANTIATE_TEST_SUITE_P(, RebindingTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "Distances" : "Descriptors";
                         });

} // namespace

} // namespace heddle::runtime::test

//===- MistakeTests.cpp - Wrong bindings ----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every wrong binding is an error that names the argument and the member.
// Nothing is written, and the graph works after a correct binding.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <functional>

using namespace heddle;
using namespace heddle::test;

namespace {

const char *const kProgram = "sgd:momentum=0.9";

struct MistakeTest : testing::TestWithParam<const char *> {
  std::optional<Trial> run;
  std::map<std::string, std::vector<Tensor>> lists;

  void SetUp() override {
    if (std::string(GetParam()) == "cuda")
      HEDDLE_SKIP_WITHOUT_GPU();
    Problem problem;
    problem.members = vectors({10, 300, 4099});
    run.emplace(kProgram, GetParam(), problem);
    for (const Place &place : *run->before().places)
      lists[place.name] = run->tensors(place);
  }

  void bind(const std::string &name, const std::vector<Tensor> &tensors) {
    EXPECT_TRUE(succeeded(run->graph().bindList(name, HEDDLE_F32, tensors)));
  }

  /// Expects prepare and replay to fail after the mistake `spoil`, before and
  /// after a successful step.
  void expectRefused(const std::function<void()> &spoil,
                     const std::string &text) {
    for (int time = 0; time < 2; ++time) {
      Image before = run->read();
      spoil();
      EXPECT_TRUE(refused(run->graph().prepare(run->stream()), text));
      EXPECT_TRUE(refused(run->graph().replay(run->stream()), text));
      expectEqual(before, run->read());
      run->bind(run->graph());
      EXPECT_TRUE(
          succeeded(run->graph().bindScalar("lr", HEDDLE_F64, nullptr)));
      run->step();
      Image after = run->read();
      expectUntouched(before, after);
      EXPECT_NE(before.values("param", 1), after.values("param", 1));
    }
  }
};

TEST_P(MistakeTest, NullAddress) {
  expectRefused(
      [&] {
        std::vector<Tensor> grads = lists["grad"];
        grads[1].data = nullptr;
        bind("grad", grads);
      },
      "argument 'grad', member 1: expected an address, found null");
}

TEST_P(MistakeTest, MisalignedAddress) {
  expectRefused(
      [&] {
        std::vector<Tensor> params = lists["param"];
        params[2].data = static_cast<char *>(params[2].data) + 2;
        bind("param", params);
      },
      "argument 'param', member 2: expected an address aligned to 4 bytes");
}

TEST_P(MistakeTest, Overlaps) {
  expectRefused(
      [&] {
        std::vector<Tensor> params = lists["param"];
        params[0].data = static_cast<char *>(lists["grad"][1].data) + 1160;
        bind("param", params);
      },
      "argument 'param', member 0: expected memory of its own, because it "
      "is written, found an overlap with argument 'grad', member 1");
  expectRefused(
      [&] {
        std::vector<Tensor> params = lists["param"];
        params[1].data = static_cast<char *>(params[2].data) + 4;
        bind("param", params);
      },
      "expected memory of its own");
  expectRefused(
      [&] {
        std::vector<Tensor> buffers = lists["momentum_buffer"];
        buffers[1].data = lists["param"][1].data;
        bind("momentum_buffer", buffers);
      },
      "expected memory of its own");
}

TEST_P(MistakeTest, OtherExtents) {
  expectRefused(
      [&] {
        std::vector<Tensor> grads = lists["grad"];
        grads[1].extents = {299};
        bind("grad", grads);
      },
      "argument 'grad', member 1: expected 300 elements as in argument "
      "'param', found 299");
  expectRefused(
      [&] {
        std::vector<Tensor> grads = lists["grad"];
        grads.pop_back();
        bind("grad", grads);
      },
      "argument 'grad': expected 3 members as in argument 'param', found 2");
  expectRefused(
      [&] {
        std::vector<Tensor> grads = lists["grad"];
        grads[0].extents = {-10};
        bind("grad", grads);
      },
      "argument 'grad', member 0: expected extents of at least 0");
}

TEST_P(MistakeTest, OtherElementType) {
  Graph &graph = run->graph();
  Image before = run->read();
  EXPECT_TRUE(refused(graph.bindList("grad", HEDDLE_F16, lists["grad"]),
                      "argument 'grad': expected dtype f32, found f16"));
  EXPECT_TRUE(refused(graph.bindScalar("lr", HEDDLE_F32, run->address("grad")),
                      "argument 'lr': expected dtype f64, found f32"));
  EXPECT_TRUE(refused(graph.bindList("grads", HEDDLE_F32, lists["grad"]),
                      "argument 'grads': expected one of 'param'"));
  EXPECT_TRUE(refused(graph.setScalar("param", 1, run->stream()),
                      "argument 'param': expected a list, found a scalar"));
  expectEqual(before, run->read());
  // The previous binding is still in effect.
  run->step();
  expectUntouched(before, run->read());
}

TEST_P(MistakeTest, HostMemory) {
  if (std::string(GetParam()) == "cpu")
    GTEST_SKIP() << "the cpu target works on host memory";
  std::vector<float> host(4099, 7);
  double lr = 1;
  expectRefused(
      [&] {
        std::vector<Tensor> grads = lists["grad"];
        grads[1].data = host.data();
        bind("grad", grads);
      },
      "argument 'grad', member 1: expected a device address, found host "
      "address");
  expectRefused(
      [&] {
        std::vector<Tensor> params = lists["param"];
        params[2].data = host.data();
        bind("param", params);
      },
      "argument 'param', member 2: expected a device address, found host "
      "address");
  expectRefused(
      [&] {
        EXPECT_TRUE(succeeded(run->graph().bindScalar("lr", HEDDLE_F64, &lr)));
      },
      "argument 'lr': expected a device address");
  EXPECT_EQ(host, std::vector<float>(4099, 7));
}

INSTANTIATE_TEST_SUITE_P(Targets, MistakeTest, testing::Values("cpu", "cuda"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

} // namespace

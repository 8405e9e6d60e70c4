//===- RuntimeHarness.h - Lists and fixtures for tests ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_GPU_RUNTIMEHARNESS_H
#define HEDDLE_TEST_GPU_RUNTIMEHARNESS_H

#include "RuntimePlans.h"
#include "runtime/cuda/Graph.h"
#include "runtime/nvrtc/Nvrtc.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace heddle::runtime::test {

using namespace llvm;

inline testing::AssertionResult succeeded(Error error) {
  auto [code, text] = takeError(std::move(error));
  return code == StatusCode::Ok ? testing::AssertionSuccess()
                                : testing::AssertionFailure() << text;
}

inline std::string failure(Error error) {
  auto [code, text] = takeError(std::move(error));
  EXPECT_EQ(static_cast<int>(code), static_cast<int>(StatusCode::BadInput))
      << text;
  return text;
}

#define EXPECT_CONTAINS(text, part)                                            \
  EXPECT_NE(std::string(text).find(part), std::string::npos)                   \
      << "the text is: " << (text)

inline bool standIn() { return std::getenv("HEDDLE_CUDA_DRIVER") != nullptr; }

/// Lists on the device, with their contents.
class DeviceList {
public:
  DeviceList(const ContextPtr &context, std::vector<size_t> sizes, float value)
      : context(context), sizes(sizes) {
    size_t total = 64;
    for (size_t size : sizes) {
      offsets.push_back(total / sizeof(float));
      // Members need the alignment of an element only.
      total += size * sizeof(float) + 16 + 4;
    }
    memory = cantFail(DeviceMemory::allocate(context, total));
    for (size_t member = 0; member < sizes.size(); ++member)
      write(member, std::vector<float>(sizes[member], value));
  }
  char *address(size_t member) const {
    return memory.address() + offsets[member] * sizeof(float);
  }
  std::vector<ListMember> members(bool scalars = false) const {
    std::vector<ListMember> list;
    for (size_t member = 0; member < sizes.size(); ++member)
      list.push_back({sizes[member] ? address(member) : nullptr, {}});
    if (!scalars)
      for (size_t member = 0; member < sizes.size(); ++member)
        list[member].extents = {static_cast<int64_t>(sizes[member])};
    return list;
  }
  std::vector<float> read(size_t member) const {
    std::vector<float> values(sizes[member]);
    Context::Scope scope(*context);
    if (!values.empty()) {
      EXPECT_EQ(context->driver().cuMemcpyDtoH(
                    values.data(),
                    reinterpret_cast<CUdeviceptr>(address(member)),
                    values.size() * sizeof(float)),
                CUDA_SUCCESS);
    }
    return values;
  }
  void write(size_t member, const std::vector<float> &values) {
    Context::Scope scope(*context);
    if (!values.empty()) {
      EXPECT_EQ(context->driver().cuMemcpyHtoD(
                    reinterpret_cast<CUdeviceptr>(address(member)),
                    values.data(), values.size() * sizeof(float)),
                CUDA_SUCCESS);
    }
  }

private:
  ContextPtr context;
  std::vector<size_t> sizes, offsets;
  DeviceMemory memory;
};

// This runs before the driver is loaded.
#ifdef HEDDLE_STAND_IN_DRIVER
[[maybe_unused]] inline const int useStandIn =
    setenv("HEDDLE_CUDA_DRIVER", HEDDLE_STAND_IN_DRIVER, 1);
#endif

struct RuntimeTest : testing::Test {
  ContextPtr context;
  StreamHandle stream;

  void SetUp() override {
    Expected<ContextPtr> current = Context::current();
    if (!current) {
      std::string reason = takeError(current.takeError()).second;
      ASSERT_FALSE(standIn()) << reason;
      GTEST_SKIP() << reason;
    }
    context = *current;
    if (Expected<const Nvrtc *> nvrtc = Nvrtc::get(); !nvrtc)
      GTEST_SKIP() << takeError(nvrtc.takeError()).second;
    stream = cantFail(createStream(context));
  }

  std::shared_ptr<Executable> compile(Plan plan) {
    Expected<std::shared_ptr<Executable>> executable = Executable::create(
        {std::move(plan), nullptr}, Target::Cuda, context->arch());
    if (!executable) {
      ADD_FAILURE() << takeError(executable.takeError()).second;
      return nullptr;
    }
    EXPECT_EQ((*executable)->log().str(), "");
    return *executable;
  }

  std::unique_ptr<Graph> graphOf(Plan plan) {
    return cantFail(Graph::create(compile(std::move(plan)), context));
  }

  void replay(ProgramGraph &graph, int times = 1) {
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(succeeded(graph.replay(stream.get())));
    ASSERT_TRUE(succeeded(graph.synchronize(stream.get())));
  }

  void bindAdd(ProgramGraph &graph, const DeviceList &x,
               const DeviceList &count) {
    ASSERT_TRUE(succeeded(graph.bindList("x", DType::F32, x.members())));
    ASSERT_TRUE(
        succeeded(graph.bindList("count", DType::F32, count.members(true))));
  }

  static void expectAll(const DeviceList &list, size_t members, float value) {
    for (size_t member = 0; member < members; ++member)
      for (float found : list.read(member))
        ASSERT_EQ(found, value) << "member " << member;
  }
};

/// A graph of a plan with by-value scalars.
struct ByValueScalarTest : RuntimeTest {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<DeviceList> x;

  void make(float start = 0) {
    Plan plan = withKernels(scalePlan);
    // Each entry is a unit of its own.
    plan.source.sections.push_back({"// values\n", {"scale_by_value"}});
    plan.source.sections.push_back({"// addresses\n", {"scale_by_address"}});
    graph = graphOf(std::move(plan));
    x = std::make_unique<DeviceList>(context, std::vector<size_t>{10, 0, 129},
                                     start);
    ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x->members())));
  }
  void set(StringRef name, double value) {
    ASSERT_TRUE(succeeded(graph->setScalar(name, value, stream.get())));
  }
};

} // namespace heddle::runtime::test

#endif // HEDDLE_TEST_GPU_RUNTIMEHARNESS_H

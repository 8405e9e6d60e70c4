//===- LargeTests.cpp - Lists of many elements ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One member of 2^31 + 5 elements between small ones, which needs 9 GB of
// device memory; skipped if there is less. New gradients of a list that is
// large enough for distances.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::test;

namespace {

TEST(LargeTest, LastElementsAreUpdated) {
  HEDDLE_SKIP_WITHOUT_GPU();
  const CudaDriver &driver = *CudaDriver::get();
  constexpr int64_t kCount = (int64_t(1) << 31) + 5;
  constexpr size_t kBytes = 2 * kCount + 512;
  size_t available = 0, total = 0;
  ASSERT_EQ(driver.cuMemGetInfo(&available, &total), CUDA_SUCCESS);
  if (available < 2 * kBytes + (size_t(1) << 30))
    GTEST_SKIP() << "too little device memory: " << available << " bytes free";

  // bf16: 1, 2 and 0.5.
  constexpr uint16_t kOne = 0x3f80, kTwo = 0x4000, kHalf = 0x3f00;
  const Executable &sgd = compiled("sgd:dtype=bf16", "cuda");
  Memory param = Memory::create(sgd, kBytes).value(),
         grad = Memory::create(sgd, kBytes).value();
  for (Memory *memory : {&param, &grad})
    ASSERT_EQ(
        driver.cuMemsetD16(reinterpret_cast<CUdeviceptr>(memory->address()),
                           kOne, kBytes / 2),
        CUDA_SUCCESS);
  // Gradients of 2 at both ends and around the limit of 32-bit indices.
  std::vector<int64_t> places = {0, 1, (int64_t(1) << 31) - 1, int64_t(1) << 31,
                                 kCount - 1};
  for (int64_t place : places)
    ASSERT_TRUE(succeeded(grad.write(2 * place, &kTwo, 2)));

  // The small members follow the large one after a gap of 8 elements.
  auto lists = [&](const Memory &memory) {
    char *base = static_cast<char *>(memory.address());
    char *behind = base + 2 * (kCount + 8);
    return std::vector<Tensor>{
        {behind, {3}}, {base, {kCount}}, {behind + 32, {7}}};
  };
  Graph graph = Graph::create(sgd).value();
  ASSERT_TRUE(succeeded(graph.bindList("param", HEDDLE_BF16, lists(param))));
  ASSERT_TRUE(succeeded(graph.bindList("grad", HEDDLE_BF16, lists(grad))));
  ASSERT_TRUE(succeeded(graph.setScalar("lr", 0.5, driver.stream)));
  ASSERT_TRUE(succeeded(graph.replay(driver.stream)));
  ASSERT_TRUE(succeeded(graph.synchronize(driver.stream)));

  auto expectedAt = [&](int64_t element) -> uint16_t {
    int64_t behind = element - (kCount + 8);
    bool small =
        (behind >= 0 && behind < 3) || (behind >= 16 && behind < 16 + 7);
    if (element >= kCount && !small)
      return kOne; // in no member
    return std::ranges::find(places, element) != places.end() ? 0 : kHalf;
  };
  std::vector<uint16_t> piece(1 << 26);
  for (int64_t first = 0; first < static_cast<int64_t>(kBytes / 2);
       first += piece.size()) {
    int64_t count = std::min<int64_t>(piece.size(), kBytes / 2 - first);
    ASSERT_TRUE(succeeded(param.read(2 * first, piece.data(), 2 * count)));
    for (int64_t element = 0; element < count; ++element)
      if (piece[element] != kHalf || first + element >= kCount)
        ASSERT_EQ(piece[element], expectedAt(first + element))
            << "element " << first + element;
  }
  for (int64_t place : places) {
    uint16_t found = kOne;
    ASSERT_TRUE(succeeded(param.read(2 * place, &found, 2)));
    EXPECT_EQ(found, 0) << "element " << place;
  }
}

/// More members than a launch takes distances of, with moved gradients in both
/// parts; then in a captured step, which follows later bindings.
TEST(LargeTest, NewGradients) {
  HEDDLE_SKIP_WITHOUT_GPU();
  const CudaDriver &driver = *CudaDriver::get();
  constexpr uint16_t kOne = 0x3f80, kTwo = 0x4000;
  std::vector<int64_t> sizes(500, 40);
  sizes[0] = (1 << 25) + 77;
  sizes[490] = 9000;
  std::vector<size_t> offsets;
  size_t bytes = 0;
  for (int64_t size : sizes) {
    offsets.push_back(bytes);
    bytes += (2 * size + 63) / 64 * 64;
  }
  const Executable &sgd = compiled("sgd:dtype=bf16", "cuda");
  auto filled = [&](uint16_t value) {
    Memory memory = Memory::create(sgd, bytes).value();
    EXPECT_EQ(
        driver.cuMemsetD16(reinterpret_cast<CUdeviceptr>(memory.address()),
                           value, bytes / 2),
        CUDA_SUCCESS);
    return memory;
  };
  Memory param = filled(0), ones = filled(kOne), twos = filled(kTwo);
  auto tensors = [&](auto memoryOf) {
    std::vector<Tensor> list;
    for (size_t member = 0; member < sizes.size(); ++member)
      list.push_back(
          {static_cast<char *>(memoryOf(member).address()) + offsets[member],
           {sizes[member]}});
    return list;
  };
  // The parameters that a correct sequence of steps leaves.
  std::vector<double> expected(sizes.size());
  auto expectParameters = [&] {
    ASSERT_EQ(driver.cuStreamSynchronize(driver.stream), CUDA_SUCCESS);
    for (size_t member = 0; member < sizes.size(); ++member)
      for (int64_t element : {int64_t(0), sizes[member] - 1}) {
        unsigned char found[2];
        ASSERT_TRUE(succeeded(
            param.read(offsets[member] + 2 * element, found, sizeof(found))));
        ASSERT_EQ(toDouble(HEDDLE_BF16, found), expected[member])
            << "element " << element << " of member " << member;
      }
  };
  Graph graph = Graph::create(sgd).value();
  ASSERT_TRUE(succeeded(graph.setScalar("lr", 1, driver.stream)));
  ASSERT_TRUE(succeeded(
      graph.bindList("param", HEDDLE_BF16,
                     tensors([&](size_t) -> Memory & { return param; }))));
  auto bind = [&](unsigned moved) {
    ASSERT_TRUE(succeeded(graph.bindList(
        "grad", HEDDLE_BF16, tensors([&](size_t member) -> Memory & {
          return member % 3 < moved ? twos : ones;
        }))));
  };
  auto expectStep = [&](unsigned moved) {
    for (size_t member = 0; member < sizes.size(); ++member)
      expected[member] -= member % 3 < moved ? 2 : 1;
  };
  auto updates = [] {
    uint64_t count = 0;
    EXPECT_EQ(heddle_statistic("scalar_updates", &count), HEDDLE_OK);
    return count;
  };
  for (unsigned moved : {0, 3, 1, 2, 0, 1}) {
    uint64_t before = updates();
    bind(moved);
    ASSERT_TRUE(succeeded(graph.replay(driver.stream)));
    // Only the first step binds another layout.
    EXPECT_EQ(updates() - before, expected[0] < 0 ? 1u : 0u);
    expectStep(moved);
    expectParameters();
  }
  bind(2);
  ASSERT_TRUE(succeeded(graph.replay(driver.stream)));
  expectStep(2);
  ASSERT_EQ(driver.cuStreamBeginCapture(driver.stream,
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph.replay(driver.stream)));
  CUgraph captured = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(driver.stream, &captured), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
            CUDA_SUCCESS);
  for (unsigned moved : {2, 1, 3}) {
    bind(moved);
    ASSERT_TRUE(succeeded(graph.prepare(driver.stream)));
    ASSERT_EQ(driver.cuGraphLaunch(executable, driver.stream), CUDA_SUCCESS);
    expectStep(moved);
    ASSERT_TRUE(succeeded(graph.replay(driver.stream)));
    expectStep(moved);
    expectParameters();
  }
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
}

} // namespace

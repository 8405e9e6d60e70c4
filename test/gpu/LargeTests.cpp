//===- LargeTests.cpp - More than 2^31 elements ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One member of 2^31 + 5 elements between small ones. Needs 9 GB of device
// memory; skipped if there is less.
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

} // namespace

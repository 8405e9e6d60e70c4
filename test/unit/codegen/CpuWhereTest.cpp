//===- CpuWhereTest.cpp - members and sweeps that are skipped -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

using namespace heddle::test;

namespace {

// Members whose flag does not hold keep their values, including the buffer of
// the flag; their previous values still count in the sum over the list.
TEST(CpuWhere, Members) {
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xf32>>
!one = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
fused.program @k(%x: !list {foreach.donate = 0 : i64}, %on: !flag, %n: !one)
    -> (!list, !one, tensor<f32>, !flag)
    attributes {buffers = [
      #fused.buffer<"sum", result, tensor<f32>>]} {
  %y, %s, %t, %more = fused.sweep where %on : !flag
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "step" result_buffers [0, 2, 3, 1]
      (%v = %x : !list, %k = %n : !one) -> (!list, !one, tensor<f32>, !flag) {
    %w = arith.addf %v, %v : f32
    %s = fused.reduce add member %w : f32
    %t = fused.reduce add list %w : f32
    %limit = arith.constant 100.0 : f32
    %more = arith.cmpf olt, %s, %limit : f32
    fused.yield %w, %s, %t, %more : f32, f32, f32, i1
  }
  fused.yield %y, %s, %t, %more : !list, !one, tensor<f32>, !flag
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  std::vector<Tensor<float>> x;
  std::vector<Member> members, flags, sums;
  std::vector<uint8_t> on = {1, 1, 1, 1};
  std::vector<float> sum = {7, 7, 7, 7};
  for (int64_t size : {3, 5000, 2000, 1}) {
    x.emplace_back(size);
    for (float &v : x.back())
      v = 1;
  }
  for (size_t k = 0; k < x.size(); ++k) {
    members.push_back(x[k].vector());
    flags.push_back({&on[k]});
    sums.push_back({&sum[k]});
  }
  float total = -1;
  harness.bindList(0, members);
  harness.bindList(1, flags);
  harness.bindList(2, sums);
  harness.bindScalar(3, &total);
  harness.bind();
  harness.launch();
  EXPECT_EQ(sum, (std::vector<float>{6, 10000, 4000, 2}));
  EXPECT_EQ(on, (std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(total, 14008);
  // Again: two of the members continue.
  harness.launch();
  EXPECT_EQ(sum, (std::vector<float>{12, 10000, 4000, 4}));
  EXPECT_EQ(total, 14016);
  for (size_t k = 0; k < x.size(); ++k)
    for (float v : x[k])
      ASSERT_EQ(v, k == 1 || k == 2 ? 2 : 4);
}

TEST(CpuWhere, WholeSweep) {
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xf32>>
!flag = tensor<i1>
fused.program @k(%x: !list {foreach.donate = 0 : i64}, %on: !flag)
    -> (!list, tensor<f32>, tensor<f32>)
    attributes {buffers = [
      #fused.buffer<"sum", result, tensor<f32>>,
      #fused.buffer<"twice", result, tensor<f32>>]} {
  %y, %s, %d = fused.sweep where %on : !flag
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "step" result_buffers [0, 2, 3]
      (%v = %x : !list) -> (!list, tensor<f32>) {
    %w = arith.addf %v, %v : f32
    %s = fused.reduce add list %v : f32
    fused.yield %w, %s : f32, f32
  } epilogue [%s : f32] () -> tensor<f32> {
    %d = arith.addf %s, %s : f32
    fused.yield %d : f32
  }
  fused.yield %y, %s, %d : !list, tensor<f32>, tensor<f32>
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Tensor<float> x(std::vector<float>(1500, 1.0f));
  uint8_t on = 0;
  float sum = -1, twice = -2;
  harness.bindList(0, {x.vector()});
  harness.bindScalar(1, &on);
  harness.bindScalar(2, &sum);
  harness.bindScalar(3, &twice);
  harness.bind();
  harness.launch();
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(sum, -1);
  EXPECT_EQ(twice, -2);
  on = 1;
  harness.launch();
  EXPECT_EQ(x[1499], 2);
  EXPECT_EQ(sum, 1500);
  EXPECT_EQ(twice, 3000);
}

} // namespace

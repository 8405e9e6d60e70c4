//===- CpuIterationTest.cpp - entries of iterations -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace heddle::test;

namespace {

/// A loop whose iterations the test counts: each member adds the entry of its
/// schedule, and records the sum.
std::string bodyOf(const std::string &element, const std::string &bound) {
  std::string list = listType(element), each = listType("f64", 0);
  std::string as = element == bound ? "" : " as " + bound;
  std::string convert = bound == "i32"   ? "%w = arith.sitofp %s : i32 to f64"
                        : bound == "f32" ? "%w = arith.extf %s : f32 to f64"
                                         : "%w = arith.addf %s, %zero : f64";
  return "fused.program @k(%x0: " + each + " {foreach.donate = 0 : i64}, " +
         "%schedule: " + list + ", %history: " + listType("f32") +
         " {foreach.donate = 1 : i64}, %limit: tensor<i32>, %go: tensor<i1>)" +
         " -> (" + each + ", " + listType("f32") + ")" +
         R"( attributes {buffers = [
      #fused.buffer<"iterations", temporary, tensor<i32>>]} {
  %x, %h, %t = fused.loop (%x = %x0 : )" +
         each + ", %h = %history : " + listType("f32") +
         R"() upto %limit attributes {name = "loop", condition_buffer = 4 : i64,
      result_buffers = array<i64: 0, 2, 5>} -> ()" +
         each + ", " + listType("f32") +
         ", tensor<i32>) {\n    %x1, %h1 = " + "fused.sweep" +
         stream("step", "0, 2", 1, 1) + "(%x = %x : " + each +
         ", %s = %schedule[iteration]" + as + " : " + list +
         ", %into = %h[iteration] : " + listType("f32") + ") -> (" + each +
         ", " + listType("f32") + R"() {
      %zero = arith.constant 0.0 : f64
      )" +
         convert +
         R"(
      %k = foreach.iteration : i32
      %f = arith.sitofp %k : i32 to f64
      %y = arith.addf %x, %w : f64
      %n = arith.truncf %y : f64 to f32
      %r = fused.record %n in %into : f32 in f32
      %z = arith.addf %y, %f : f64
      fused.yield %z, %r : f64, f32
    }
    fused.yield %x1, %h1 while %go : )" +
         each + ", " + listType("f32") + R"( while tensor<i1>
  }
  fused.yield %x, %h : )" +
         each + ", " + listType("f32") + "\n}\n";
}

/// Three members, whose schedules have three entries, one and none.
template <class T>
void runIterations(const std::string &element, const std::string &bound,
                   T one) {
  SCOPED_TRACE(element);
  CpuHarness harness(bodyOf(element, bound));
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  std::vector<double> x = {0, 0, 0};
  std::vector<Tensor<T>> schedule;
  schedule.emplace_back(std::vector<T>{one, T(), one});
  schedule.emplace_back(std::vector<T>{one});
  schedule.emplace_back(0);
  std::vector<Tensor<float>> history;
  history.emplace_back(std::vector<float>{-1, -1});
  history.emplace_back(0);
  history.emplace_back(std::vector<float>(6, -1));
  std::vector<Member> each, schedules, histories;
  for (size_t m = 0; m < x.size(); ++m) {
    each.push_back({&x[m]});
    schedules.push_back(schedule[m].vector());
    histories.push_back(history[m].vector());
  }
  // An empty vector may have no address.
  schedules[2].data = histories[1].data = nullptr;
  int32_t iteration = 0;
  harness.bindList(0, each);
  harness.bindList(1, schedules);
  harness.bindList(2, histories);
  harness.bindScalar(5, &iteration);
  harness.bind();
  for (; iteration < 5; ++iteration)
    harness.launch();
  double none = bound == "i32" ? 0 : INFINITY;
  EXPECT_EQ(x, (std::vector<double>{1 + 0 + 3 + 10, 5 + 10, none + 10}));
  EXPECT_EQ(history[0][0], 1);
  EXPECT_EQ(history[0][1], 1);
  for (int k = 0; k < 5; ++k)
    EXPECT_EQ(history[2][k], static_cast<float>(none + k * (k - 1) / 2)) << k;
  EXPECT_EQ(history[2][5], -1);
  for (auto &vector : history)
    EXPECT_TRUE(vector.guardHolds());
}

TEST(CpuIteration, SchedulesAndRecords) {
  runIterations<double>("f64", "f64", 1);
  runIterations<float>("f32", "f32", 1);
  runIterations<float>("f32", "f64", 1);
  runIterations<uint16_t>("bf16", "f32", 0x3f80);
  runIterations<uint16_t>("f16", "f64", 0x3c00);
  runIterations<int32_t>("i32", "i32", 1);
}

} // namespace

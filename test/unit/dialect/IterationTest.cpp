//===- IterationTest.cpp - entries that loops read and record -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iteration indices and records in the interpreter.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Each iteration subtracts an entry of `amounts` from a member's value and
/// records the rounded difference. A member stops when it is not positive.
constexpr const char *kCountDown = R"mlir(
!each = !foreach.list<tensor<f64>>
!list = !foreach.list<tensor<?xf64>>
!record = !foreach.list<tensor<?xf32>>
!count = !foreach.list<tensor<i32>>
func.func @count_down(%x0: !each, %amounts: !list, %history: !record, %limit: tensor<i32>)
    -> (!each, !record, !count, !count) {
  %x, %left, %last, %iterations = foreach.while (%x = %x0 : !each, %h = %history : !record) upto %limit
      -> (!each, !record, !count, !count) {
    %x1, %k, %more = foreach.map (%x = %x : !each, %s = %amounts[iteration] : !list)
        -> (!each, !count, !foreach.list<tensor<i1>>) {
      %x1 = arith.subf %x, %s : f64
      %k = foreach.iteration : i32
      %zero = arith.constant 0.0 : f64
      %more = arith.cmpf ogt, %x1, %zero : f64
      foreach.yield %x1, %k, %more : f64, i32, i1
    }
    %h1 = foreach.record %x1 in %h : !each in !record
    foreach.yield %x1, %h1, %k while %more : !each, !record, !count while !foreach.list<tensor<i1>>
  }
  return %x, %left, %last, %iterations : !each, !record, !count, !count
})mlir";

TEST(Iteration, EntriesAndRecordsOfEachMember) {
  Context context;
  Runner runner = Runner::parse(context, kCountDown);
  runner.setEach("x0", {10.1, 1, 5});
  // Beyond the end of a vector its last entry is read.
  runner.set("amounts", {{1, 2}, {3, 100}, {1, 1, 1, 0.5}});
  // The first two are too short, the third is too long.
  runner.set("history", {{-1, -1, -1}, {-2}, Vector(9, -3)});
  runner.setScalar("limit", 100);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  auto single = [](double x) { return static_cast<double>((float)x); };
  EXPECT_EQ(runner.number("iterations", 0), 6);
  EXPECT_EQ(runner.number("last", 0), 5);
  EXPECT_EQ(runner.member("left", 0),
            (Vector{single(10.1 - 1), single(10.1 - 1 - 2),
                    single(10.1 - 1 - 2 - 2)}));
  EXPECT_EQ(runner.number("iterations", 1), 1);
  EXPECT_EQ(runner.number("x", 1), -2);
  EXPECT_EQ(runner.member("left", 1), Vector{-2});
  EXPECT_EQ(runner.number("iterations", 2), 7);
  EXPECT_EQ(runner.member("left", 2),
            (Vector{4, 3, 2, 1.5, 1, 0.5, 0, -3, -3}));
}

/// The entry of the first iteration, before and in the loop, and the entry of
/// the next iteration.
TEST(Iteration, FirstAndNext) {
  constexpr const char *text = R"mlir(
!each = !foreach.list<tensor<f64>>
!list = !foreach.list<tensor<?xf64>>
func.func @first_and_next(%amounts: !list, %limit: tensor<i32>) -> (!each, !foreach.list<tensor<i32>>) {
  %start = foreach.map (%f = %amounts[first] : !list) -> !each { foreach.yield %f : f64 }
  %x, %iterations = foreach.while (%x = %start : !each) upto %limit -> (!each, !foreach.list<tensor<i32>>) {
    %x1, %go = foreach.map (%x = %x : !each, %n = %amounts[next], %f = %amounts[first] : !list)
        -> (!each, !foreach.list<tensor<i1>>) {
      %ten = arith.constant 10.0 : f64
      %m = arith.mulf %x, %ten : f64
      %y = arith.addf %m, %n : f64
      %z = arith.subf %y, %f : f64
      %go = arith.constant true
      foreach.yield %z, %go : f64, i1
    }
    foreach.yield %x1 while %go : !each while !foreach.list<tensor<i1>>
  }
  return %x, %iterations : !each, !foreach.list<tensor<i32>>
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  runner.set("amounts", {{1, 2, 3, 4}, {7}, {}});
  runner.setScalar("limit", 4);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  // 1, 10 + 2 - 1 = 11, 112, 1123, and with the last entry again, 11233.
  EXPECT_EQ(runner.number("x", 0), 11233);
  EXPECT_EQ(runner.number("x", 1), 70000);
  EXPECT_TRUE(std::isnan(runner.number("x", 2))); // inf - inf
}

TEST(Iteration, LimitReached) {
  Context context;
  Runner runner = Runner::parse(context, kCountDown);
  runner.setEach("x0", {10});
  runner.set("amounts", {{1, 2}});
  runner.set("history", {{7, 7, 7}});
  runner.setScalar("limit", 2);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("left"), (Vector{9, 7, 7}));
  EXPECT_EQ(runner.number("iterations"), 2);
}

TEST(Iteration, NoIterationRecordsNothing) {
  Context context;
  Runner runner = Runner::parse(context, kCountDown);
  runner.setEach("x0", {10});
  runner.set("amounts", {{1, 2}});
  runner.set("history", {{7, 8}});
  runner.setScalar("limit", 0);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("left"), (Vector{7, 8}));
  EXPECT_EQ(runner.number("iterations"), 0);
}

TEST(Iteration, EmptyVectors) {
  Context context;
  Runner runner = Runner::parse(context, kCountDown);
  runner.setEach("x0", {10});
  runner.set("amounts", {{}});
  runner.set("history", {{}});
  runner.setScalar("limit", 5);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("x"), -INFINITY);
  EXPECT_EQ(runner.member("left"), Vector{});
  EXPECT_EQ(runner.number("iterations"), 1);
}

TEST(Iteration, InactiveMembersRecordNothing) {
  Context context;
  Runner runner = Runner::parse(context, kCountDown);
  runner.setEach("x0", {10, 1});
  runner.set("amounts", {{1}, {1}});
  runner.set("history", {{7}, {7}});
  runner.setScalar("limit", 1);
  runner.inactive["x0"] = {true};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("left", 0), Vector{7});
  EXPECT_EQ(runner.member("left", 1), Vector{0});
}

/// The iteration belongs to the innermost loop; a device scalar is recorded for
/// every member.
TEST(Iteration, LoopsNest) {
  constexpr const char *text = R"mlir(
!list = !foreach.list<tensor<?xf64>>
func.func @nested(%amounts: !list, %history: !list, %sum0: tensor<f64>, %inner: tensor<i32>, %outer: tensor<i32>,
                  %go: tensor<i1>) -> (!list, tensor<i32>) {
  %h, %iterations = foreach.while (%h = %history : !list) upto %outer -> (!list, tensor<i32>) {
    %sum, %t = foreach.while (%sum = %sum0 : tensor<f64>) upto %inner -> (tensor<f64>, tensor<i32>) {
      %part = foreach.reduce add along list (%s = %amounts[iteration] : !list) -> tensor<f64> { foreach.yield %s : f64 }
      %sum1 = foreach.map (%a = %sum, %b = %part : tensor<f64>) -> tensor<f64> {
        %c = arith.addf %a, %b : f64
        foreach.yield %c : f64
      }
      foreach.yield %sum1 while %go : tensor<f64> while tensor<i1>
    }
    %scaled = foreach.map (%a = %sum : tensor<f64>) -> tensor<f64> {
      %k = foreach.iteration : i32
      %x = arith.sitofp %k : i32 to f64
      %y = arith.mulf %a, %x : f64
      foreach.yield %y : f64
    }
    %h1 = foreach.record %scaled in %h : tensor<f64> in !list
    foreach.yield %h1 while %go : !list while tensor<i1>
  }
  return %h, %iterations : !list, tensor<i32>
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  runner.set("amounts", {{1, 2, 3}, {10, 20, 30}});
  runner.set("history", {{0, 0, 0}, {0, 0}});
  runner.setScalar("sum0", 0);
  runner.setScalar("inner", 3);
  runner.setScalar("outer", 3);
  runner.setScalar("go", 1);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.member("h", 0), (Vector{0, 66, 132}));
  EXPECT_EQ(runner.member("h", 1), (Vector{0, 66}));
  EXPECT_EQ(runner.number("iterations"), 3);
}

} // namespace

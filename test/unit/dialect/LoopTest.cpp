//===- LoopTest.cpp - while and if in the interpreter ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iteration counts, members that stop independently, loops without iterations.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Newton's iteration for the square root of `a`. A member stops when its
/// correction is at most `tol`; the last correction is returned, too.
constexpr const char *kEachStops = R"mlir(
!each = !foreach.list<tensor<f64>>
func.func @roots(%a: !each, %x0: !each, %limit: tensor<i32>, %tol: tensor<f64>)
    -> (!each, !each, !foreach.list<tensor<i32>>) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !each) upto %limit
      -> (!each, !each, !foreach.list<tensor<i32>>) {
    %x1, %d = foreach.map (%x = %x, %a = %a : !each) -> (!each, !each) {
      %half = arith.constant 0.5 : f64
      %q = arith.divf %a, %x : f64
      %s = arith.addf %x, %q : f64
      %x1 = arith.mulf %half, %s : f64
      %d = arith.subf %x1, %x : f64
      foreach.yield %x1, %d : f64, f64
    }
    %more = foreach.map (%d = %d : !each, %tol = %tol : tensor<f64>) -> !foreach.list<tensor<i1>> {
      %size = math.absf %d : f64
      %more = arith.cmpf ogt, %size, %tol : f64
      foreach.yield %more : i1
    }
    foreach.yield %x1, %d while %more : !each, !each while !foreach.list<tensor<i1>>
  }
  return %x, %change, %iterations : !each, !each, !foreach.list<tensor<i32>>
})mlir";

/// The same for one member, in plain code.
struct Root {
  double x, change = INFINITY;
  int iterations = 0;
};

Root rootOf(double a, double x, int limit, double tol) {
  Root root{x};
  while (root.iterations < limit) {
    double x1 = 0.5 * (root.x + a / root.x);
    root.change = x1 - root.x;
    root.x = x1;
    ++root.iterations;
    if (!(std::fabs(root.change) > tol))
      break;
  }
  return root;
}

TEST(While, MembersStopIndependently) {
  for (int limit : {0, 1, 3, 5, 100}) {
    SCOPED_TRACE(limit);
    Context context;
    Runner runner = Runner::parse(context, kEachStops);
    Vector a{4, 2, 1e6, 1}, x0{2, 1, 1, 1};
    runner.setEach("a", a);
    runner.setEach("x0", x0);
    runner.setScalar("limit", limit);
    runner.setScalar("tol", 1e-9);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    for (size_t m = 0; m < a.size(); ++m) {
      Root root = rootOf(a[m], x0[m], limit, 1e-9);
      EXPECT_EQ(runner.number("x", m), root.x) << m;
      EXPECT_EQ(runner.number("change", m), root.change) << m;
      EXPECT_EQ(runner.number("iterations", m), root.iterations) << m;
    }
  }
}

TEST(While, InactiveMembersRunNoIteration) {
  Context context;
  Runner runner = Runner::parse(context, kEachStops);
  runner.setEach("a", {4, 2});
  runner.setEach("x0", {1, 1});
  runner.setScalar("limit", 100);
  runner.setScalar("tol", 1e-9);
  runner.inactive["a"] = {true};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("iterations", 0), 0);
  EXPECT_EQ(runner.number("x", 1), rootOf(2, 1, 100, 1e-9).x);
}

constexpr const char *kAllStop = R"mlir(
!list = !foreach.list<tensor<?xf64>>
func.func @halve(%x0: !list, %n0: tensor<i32>, %limit: tensor<i32>, %tol: tensor<f64>)
    -> (!list, tensor<i32>, tensor<f64>, tensor<i32>, tensor<i32>) {
  %x, %n, %sum, %count, %iterations = foreach.while (%x = %x0 : !list, %n = %n0 : tensor<i32>) upto %limit
      -> (!list, tensor<i32>, tensor<f64>, tensor<i32>, tensor<i32>) {
    %x1 = foreach.map (%x = %x : !list) -> !list {
      %half = arith.constant 0.5 : f64
      %x1 = arith.mulf %half, %x : f64
      foreach.yield %x1 : f64
    }
    %sum = foreach.reduce add along list (%x = %x1 : !list) -> tensor<f64> { foreach.yield %x : f64 }
    %more, %n1 = foreach.map (%s = %sum, %tol = %tol : tensor<f64>, %n = %n : tensor<i32>) -> (tensor<i1>, tensor<i32>) {
      %more = arith.cmpf ogt, %s, %tol : f64
      %two = arith.constant 2 : i32
      %n1 = arith.addi %n, %two : i32
      foreach.yield %more, %n1 : i1, i32
    }
    foreach.yield %x1, %n1, %sum, %n1 while %more : !list, tensor<i32>, tensor<f64>, tensor<i32> while tensor<i1>
  }
  return %x, %n, %sum, %count, %iterations : !list, tensor<i32>, tensor<f64>, tensor<i32>, tensor<i32>
})mlir";

TEST(While, OneFlagForAll) {
  Context context;
  Runner runner = Runner::parse(context, kAllStop);
  runner.set("x0", {{8, 8}, {16}});
  runner.setScalar("n0", 5);
  runner.setScalar("limit", 10);
  runner.setScalar("tol", 3);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("iterations"), 4);
  EXPECT_EQ(runner.number("sum"), 2);
  EXPECT_EQ(runner.member("x", 0), (Vector{0.5, 0.5}));
  EXPECT_EQ(runner.number("n"), 13);
}

TEST(While, WithoutIterations) {
  for (double limit : {0.0, -3.0}) {
    Context context;
    Runner runner = Runner::parse(context, kAllStop);
    runner.set("x0", {{8, 8}, {16}});
    runner.setScalar("n0", 5);
    runner.setScalar("limit", limit);
    runner.setScalar("tol", 3);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    EXPECT_EQ(runner.number("iterations"), 0);
    EXPECT_EQ(runner.number("sum"), INFINITY);
    EXPECT_EQ(runner.number("count"), 0);
    EXPECT_EQ(runner.member("x", 0), (Vector{8, 8}));
    EXPECT_EQ(runner.number("n"), 5);
  }
}

TEST(If, KeepsOrComputes) {
  constexpr const char *text = R"mlir(
!list = !foreach.list<tensor<?xf32>>
func.func @guarded(%flag: tensor<i1>, %x: !list) -> !list {
  %y = foreach.if %flag -> (!list) {
    %y1 = foreach.map (%x = %x : !list) -> !list {
      %y1 = arith.addf %x, %x : f32
      foreach.yield %y1 : f32
    }
    foreach.yield %y1 : !list
  } else (%x)
  return %y : !list
})mlir";
  for (double flag : {0.0, 1.0}) {
    Context context;
    Runner runner = Runner::parse(context, text);
    runner.setScalar("flag", flag);
    runner.set("x", {{1, 2}, {3}});
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    EXPECT_EQ(runner.number("y", 1), flag ? 6 : 3);
    EXPECT_EQ(runner.member("x", 1), Vector{3});
  }
}

/// Sinkhorn on two problems of different sizes, against plain loops.
TEST(While, Sinkhorn) {
  constexpr const char *text = R"mlir(
!list = !foreach.list<tensor<?xf64>>
!mats = !foreach.list<tensor<?x?xf64>>
func.func @sinkhorn(%L: !mats, %log_a: !list, %log_b: !list, %u0: !list, %v0: !list, %limit: tensor<i32>)
    -> (!list, !list, tensor<i32>) {
  %u, %v, %iterations = foreach.while (%u = %u0, %v = %v0 : !list) upto %limit -> (!list, !list, tensor<i32>) {
    %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !mats, %vj = %v[j] : !list) -> !list {
      %x = arith.addf %l, %vj : f64
      foreach.yield %x : f64
    }
    %u1 = foreach.map (%la = %log_a, %s = %row : !list) -> !list {
      %x = arith.subf %la, %s : f64
      foreach.yield %x : f64
    }
    %col = foreach.reduce logsumexp along i (%l = %L[i, j] : !mats, %ui = %u1[i] : !list) -> !list {
      %x = arith.addf %l, %ui : f64
      foreach.yield %x : f64
    }
    %v1 = foreach.map (%lb = %log_b, %s = %col : !list) -> !list {
      %x = arith.subf %lb, %s : f64
      foreach.yield %x : f64
    }
    %more = foreach.map () -> tensor<i1> {
      %more = arith.constant true
      foreach.yield %more : i1
    }
    foreach.yield %u1, %v1 while %more : !list, !list while tensor<i1>
  }
  return %u, %v, %iterations : !list, !list, tensor<i32>
})mlir";
  Context context;
  Runner runner = Runner::parse(context, text);
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  const std::vector<std::pair<int, int>> shapes = {{3, 5}, {40, 7}};
  reference::Value L;
  std::vector<Vector> logA, logB, u0, v0;
  auto weights = [&](int n) {
    Vector weights(n);
    double sum = 0;
    for (double &w : weights)
      sum += w = uniform(random);
    for (double &w : weights)
      w = std::log(w / sum);
    return weights;
  };
  for (auto [n, m] : shapes) {
    Tensor tensor{{n, m}, Vector(n * m)};
    for (double &x : tensor.data)
      x = -uniform(random) / 0.1;
    L.members.push_back(tensor);
    logA.push_back(weights(n));
    logB.push_back(weights(m));
    u0.emplace_back(n);
    v0.emplace_back(m);
  }
  runner.arguments["L"] = L;
  runner.set("log_a", logA);
  runner.set("log_b", logB);
  runner.set("u0", u0);
  runner.set("v0", v0);
  runner.setScalar("limit", 50);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("iterations"), 50);
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto [n, m] = shapes[k];
    const Vector &l = L.members[k].data;
    // The same iterations in the scaling form.
    Vector a(n, 1), b(m, 1);
    for (int iteration = 0; iteration < 50; ++iteration) {
      for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int j = 0; j < m; ++j)
          sum += std::exp(l[i * m + j]) * b[j];
        a[i] = std::exp(logA[k][i]) / sum;
      }
      for (int j = 0; j < m; ++j) {
        double sum = 0;
        for (int i = 0; i < n; ++i)
          sum += std::exp(l[i * m + j]) * a[i];
        b[j] = std::exp(logB[k][j]) / sum;
      }
    }
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(runner.member("u", k)[i], std::log(a[i]), 1e-9);
    for (int j = 0; j < m; ++j)
      EXPECT_NEAR(runner.member("v", k)[j], std::log(b[j]), 1e-9);
  }
}

} // namespace

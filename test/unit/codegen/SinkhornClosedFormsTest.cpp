//===- SinkhornClosedFormsTest.cpp - `sinkhorn` on known solutions --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solutions by a formula or by a sort.
//
//===----------------------------------------------------------------------===//

#include "SinkhornHarness.h"

namespace heddle::test {
namespace {

/// The products of weights: the transport plan if costs do not matter.
Vector productOf(const Problem &p) {
  Vector plan;
  for (double a : p.a)
    for (double b : p.b)
      plan.push_back(a * b);
  return plan;
}

TEST_P(Sinkhorn, CostsOfRowsAndColumnsAloneDoNotMatter) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(4, 7), {1, 5}, {6, 1}, {1, 1}, {40, 33}}) {
    Problem p = oracle::randomProblem(n, m, n * 100 + m);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j)
        p.at(i, j) = 0.1 * i - 0.2 * j + 3;
    problems.push_back(p);
  }
  for (double eps : {1e-4, 1e-2, 1.0, 1e4}) {
    Results r =
        solve("dtype=f64,outputs=plan", problems, {{"eps", eps}, {"limit", 1}});
    for (size_t k = 0; k < problems.size(); ++k)
      expectNear(r["plan"][k], productOf(problems[k]), 1e-10, "plan");
  }
}

TEST_P(Sinkhorn, TwoByTwo) {
  for (double eps : {0.1, 1.0, 50.0}) {
    double c = 0.7, off = 1 / (2 * (1 + std::exp(c / eps)));
    Problem p{2, 2, {0, c, c, 0}, {0.5, 0.5}, {0.5, 0.5}};
    Results r = solve("dtype=f64,outputs=potentials/plan/cost", {p},
                      {{"eps", eps}, {"tol", 1e-14}});
    expectNear(r["plan"][0], {0.5 - off, off, off, 0.5 - off}, 1e-13, "plan");
    expectNear(r["cost"][0], {c / (1 + std::exp(c / eps))}, 1e-13, "cost");
    EXPECT_EQ(r["converged"][0], Vector{1});
    EXPECT_EQ(r["status"][0], Vector{0});
  }
}

TEST_P(Sinkhorn, OneSource) {
  Problem p = oracle::randomProblem(1, 9, 3);
  double cost = 0;
  for (int j = 0; j < 9; ++j)
    cost += p.b[j] * p.cost[j];
  Results r = solve("dtype=f64,outputs=plan/cost", {p}, {{"tol", 1e-12}});
  expectNear(r["plan"][0], p.b, 1e-14, "plan");
  expectNear(r["cost"][0], {cost}, 1e-14, "cost");
}

/// 1 x 1, both sides relaxed: two linear equations for the potentials.
TEST_P(Sinkhorn, UnbalancedPoint) {
  double c = 0.3, eps = 0.2, rhoA = 0.5, rhoB = 2, la = std::log(1.5),
         lb = std::log(0.4), l = -c / eps;
  double ta = rhoA / (rhoA + eps), tb = rhoB / (rhoB + eps);
  Problem p{1, 1, {c}, {1.5}, {0.4}};
  for (bool entropy : {false, true}) {
    // u = alpha - ta v, v = beta - tb u
    double alpha = entropy ? ta * (la - l) : la - ta * l;
    double beta = entropy ? tb * (lb - l) : lb - tb * l;
    double u = (alpha - ta * beta) / (1 - ta * tb);
    double v = beta - tb * u;
    std::string regularizer = entropy ? "entropy" : "kl";
    Results r = solve("dtype=f64,rho_a=0.5,rho_b=2,regularizer=" + regularizer,
                      {p}, {{"eps", eps}, {"tol", 1e-15}});
    expectNear(r["u"][0], {u}, 1e-13, "u");
    expectNear(r["v"][0], {v}, 1e-13, "v");
    EXPECT_EQ(r["converged"][0], Vector{1});
  }
}

/// A side without a price takes any marginal.
TEST_P(Sinkhorn, FreeSide) {
  Problem p = oracle::randomProblem(6, 5, 8);
  double eps = 0.3;
  for (bool entropy : {false, true}) {
    Vector plan;
    for (int i = 0; i < 6; ++i) {
      Vector row;
      double sum = 0;
      for (int j = 0; j < 5; ++j) {
        row.push_back(std::exp(-p.at(i, j) / eps) * (entropy ? 1 : p.b[j]));
        sum += row.back();
      }
      for (double k : row)
        plan.push_back(p.a[i] * k / sum);
    }
    Results r = solve(std::string("dtype=f64,rho_b=1e-14,outputs=plan,") +
                          "regularizer=" + (entropy ? "entropy" : "kl"),
                      {p}, {{"eps", eps}, {"tol", 1e-13}});
    expectNear(r["plan"][0], plan, 1e-12, "plan");
  }
}

/// With little entropy, sorted points on a line are matched in order.
TEST_P(Sinkhorn, MatchesSortedPoints) {
  int n = 12;
  Problem p{n, n, Vector(n * n), Vector(n, 1.0 / n), Vector(n, 1.0 / n)};
  double cost = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      p.at(i, j) = std::pow(i - (j + 0.1 * std::sin(j)), 2) / (n * n);
    cost += p.at(i, i) / n;
  }
  Results r = solve("dtype=f64,anneal=geometric,outputs=argmax/cost/projection,"
                    "points=1",
                    {p}, {{"eps", 3e-4}, {"tol", 1e-6}, {"limit", 3000}},
                    {{"x1", {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}});
  Vector order;
  for (int i = 0; i < n; ++i)
    order.push_back(i);
  EXPECT_EQ(r["argmax"][0], order);
  expectNear(r["y1"][0], order, 1e-4, "projection");
  expectNear(r["cost"][0], {cost}, 1e-6, "cost");
}

} // namespace
} // namespace heddle::test

//===- SinkhornBorderTest.cpp - `sinkhorn` on degenerate and invalid input ===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zero weights, forbidden pairs, empty problems, NaN and invalid scalars.
//
//===----------------------------------------------------------------------===//

#include "SinkhornHarness.h"

namespace heddle::test {
namespace {

/// Expects that problem `p` has converged to the solution of the oracle.
void expectSolved(const Results &r, const Problem &p, const Settings &s) {
  Solution o = oracle::solve(p, s);
  auto out = oracle::outputsOf(p, s, o.u, o.v);
  EXPECT_EQ(r["converged"][0], Vector{1});
  EXPECT_EQ(r["status"][0], Vector{0});
  expectNear(r["plan"][0], out.plan, 1e-9, "plan");
  expectNear(r["cost"][0], {out.cost}, 1e-9, "cost");
  expectNear(r["dual"][0], {out.dual}, 1e-9, "dual");
}

/// Points without weight do not affect the other points.
TEST_P(Sinkhorn, ZeroWeights) {
  Problem p = oracle::randomProblem(6, 7, 4);
  removeWeights(p, {2}, {0, 5});
  for (std::string sides : {"", ",rho_a=1,rho_b=2,omega=1.3"})
    for (std::string convention : {"scaling", "ott", "geomloss"})
      for (std::string regularizer : {"kl", "entropy"}) {
        std::string options =
            "dtype=f64,convention=" + convention +
            ",regularizer=" + regularizer + sides +
            ",outputs=potentials/plan/cost/dual/marginals/projection,points=1";
        SCOPED_TRACE(options);
        Settings s;
        s.eps = 0.1;
        s.entropy = regularizer == "entropy";
        if (!sides.empty())
          s.rhoA = 1, s.rhoB = 2, s.omega = 1.3;
        s.tol = 1e-12;
        s.limit = 2000;
        Results r =
            solve(options, {p}, {{"eps", 0.1}, {"tol", 1e-12}, {"limit", 2000}},
                  {{"x1", {Vector(7, 2.0)}}});
        expectSolved(r, p, s);
        for (auto &[name, members] : r.lists)
          for (double x : members[0])
            EXPECT_FALSE(std::isnan(x)) << name;
        EXPECT_EQ(r["y1"][0][2], 0);
      }
}

/// Forbidden pairs get no mass, and cost nothing.
TEST_P(Sinkhorn, InfiniteCosts) {
  Problem p = oracle::randomProblem(6, 6, 4);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      if ((i + 2 * j) % 4 == 1)
        p.at(i, j) = kInf;
  Settings s;
  s.eps = 0.2;
  s.tol = 1e-12;
  s.limit = 5000;
  Results r = solve("dtype=f64,outputs=potentials/plan/cost/dual/argmax", {p},
                    {{"eps", s.eps}, {"tol", s.tol}, {"limit", 5000}});
  expectSolved(r, p, s);
  for (int k = 0; k < 36; ++k)
    if (p.cost[k] == kInf) {
      EXPECT_EQ(r["plan"][0][k], 0);
    }
}

Problem without(Problem p, int64_t row, int64_t column) {
  for (int64_t i = 0; i < p.rows; ++i)
    for (int64_t j = 0; j < p.columns; ++j)
      if (i == row || j == column)
        p.at(i, j) = kInf;
  return p;
}

/// A row or a column without an allowed entry: status 128, and only the error
/// is NaN.
TEST_P(Sinkhorn, InfeasibleMasks) {
  Problem p = oracle::randomProblem(5, 6, 4);
  Problem weightless = without(p, 2, -1);
  for (double &b : weightless.b)
    b *= 1 - weightless.a[2];
  weightless.a[2] = 0;
  std::vector<Problem> problems{without(p, 3, -1), p, without(p, -1, 2),
                                without(p, 1, 4), weightless};
  for (std::string order : {"u", "v"}) {
    Results r = solve("dtype=f64,outputs=potentials/plan/marginals/argmax,"
                      "order=" +
                          order,
                      problems, {{"eps", 0.3}, {"tol", 1e-9}, {"limit", 300}});
    for (size_t m = 0; m < problems.size(); ++m) {
      SCOPED_TRACE(m);
      bool feasible = m == 1 || m == 4;
      EXPECT_EQ(r["status"][m][0], feasible ? 0 : 128);
      EXPECT_EQ(r["converged"][m][0], feasible);
      for (const char *name : {"u", "v", "plan", "marginal_a", "marginal_b"})
        for (double x : r[name][m])
          EXPECT_FALSE(std::isnan(x)) << name;
    }
    // The first iteration detects the empty row or column if its side is
    // updated first.
    EXPECT_EQ(r["iterations"][order == "u" ? 0 : 2][0], 1);
    EXPECT_TRUE(std::isnan(r["error"][order == "u" ? 0 : 2][0]));
    EXPECT_EQ(r["argmax"][0][3], r["argmax"][3][1]);
  }
  // With relaxed sides such a problem is valid.
  Results r = solve("dtype=f64,rho_a=1,rho_b=1,outputs=potentials/plan/dual",
                    problems, {{"eps", 0.3}, {"tol", 1e-10}});
  for (size_t m = 0; m < problems.size(); ++m) {
    Settings s;
    s.eps = 0.3;
    s.rhoA = s.rhoB = 1;
    s.limit = 1000;
    s.tol = 1e-10;
    auto o = oracle::solve(problems[m], s);
    auto out = oracle::outputsOf(problems[m], s, o.u, o.v);
    EXPECT_EQ(r["status"][m], Vector{0});
    EXPECT_EQ(r["converged"][m], Vector{1});
    expectNear(r["plan"][m], out.plan, 1e-8, "plan");
    expectNear(r["dual"][m], {out.dual}, 1e-8, "dual");
    EXPECT_NEAR(out.primal, out.dual, 1e-8);
  }
}

TEST_P(Sinkhorn, EmptyProblems) {
  std::vector<Problem> problems{{0, 0, {}, {}, {}},
                                oracle::randomProblem(3, 2, 1),
                                {0, 2, {}, {}, {0.5, 0.5}},
                                {2, 0, {}, {0.5, 0.5}, {}}};
  for (const char *norm : {"l1", "l2", "max"}) {
    Results r = solve(std::string("dtype=f64,outputs=potentials/plan/cost/dual,"
                                  "norm=") +
                          norm,
                      problems);
    EXPECT_EQ(r["status"], (std::vector<Vector>{{0}, {0}, {4}, {4}}));
    EXPECT_EQ(r["converged"], (std::vector<Vector>{{1}, {1}, {0}, {0}}));
    EXPECT_EQ(r["error"][0], Vector{0});
    EXPECT_EQ(r["cost"][0], Vector{0});
    EXPECT_EQ(r["dual"][0], Vector{0});
  }
}

/// A NaN or -inf entry is reported even if one or both of its points have no
/// weight.
TEST_P(Sinkhorn, NaNAtPointsWithoutWeight) {
  std::vector<Problem> problems;
  for (double bad : {double(NAN), -kInf})
    for (bool both : {true, false}) {
      problems.push_back(oracle::randomProblem(3, 3, 2));
      problems.back().a[1] = 0;
      if (both)
        problems.back().b[1] = 0;
      problems.back().cost[4] = bad;
    }
  const std::string sides[] = {"", ",rho_a=1,rho_b=1", ",order=v",
                               ",order=v,anneal=geometric",
                               ",convention=geomloss"};
  for (const std::string &more : sides)
    for (double tol : {1e-4, 3.0})
      for (int limit : {1, 2, 50}) {
        SCOPED_TRACE(more + ", " + std::to_string(limit));
        Results r = solve("dtype=f64,normalize=true" + more, problems,
                          {{"eps", 0.3}, {"tol", tol}, {"limit", limit}});
        for (size_t m = 0; m < problems.size(); ++m) {
          SCOPED_TRACE(m);
          if (limit > 1) // the first iteration may end with an infinite error
            EXPECT_EQ(r["status"][m][0], 64);
          EXPECT_EQ(r["converged"][m][0], 0);
        }
      }
}

/// The status reports bad input, which stops only its own problem and leaves
/// NaN in all results.
TEST_P(Sinkhorn, BadInput) {
  Problem good = oracle::randomProblem(4, 5, 1);
  std::vector<Problem> problems(10, good);
  problems[1].a[2] = -0.1;
  problems[2].a[0] = NAN;
  problems[3].b[4] = kInf;
  problems[4].b[1] += 0.01; // masses
  problems[5].cost[7] = NAN;
  problems[6].cost[7] = -kInf;
  problems[7].b[4] = problems[7].a[0] = -1;
  problems[8].a[1] += 1e-6; // rounding
  std::vector<double> expected{0, 1, 1, 2, 4, 64, 64, 1 + 2, 0, 0};
  Results r = solve("dtype=f64,outputs=potentials/cost", problems,
                    {{"eps", 0.3}, {"tol", 1e-4}});
  for (size_t m = 0; m < problems.size(); ++m) {
    SCOPED_TRACE(m);
    EXPECT_EQ(r["status"][m][0], expected[m]);
    EXPECT_EQ(r["converged"][m][0], expected[m] == 0);
    if (expected[m] == 0) {
      EXPECT_EQ(r["iterations"][m][0], r["iterations"][9][0]);
      continue;
    }
    EXPECT_LE(r["iterations"][m][0], 2);
    EXPECT_TRUE(std::isnan(r["error"][m][0]));
    EXPECT_TRUE(std::isnan(r["cost"][m][0]));
    for (double v : r["v"][m])
      EXPECT_TRUE(std::isnan(v));
  }
}

TEST_P(Sinkhorn, BadScalars) {
  std::vector<Problem> problems(3, oracle::randomProblem(4, 5, 1));
  auto statusOf = [&](const std::string &options, const std::string &name,
                      double value) {
    Results r =
        solve("dtype=" + options, problems, {{name, value}, {"limit", 5}},
              {{"epsilons", std::vector<Vector>(3, {1, 0.1})}});
    EXPECT_EQ(r["converged"][0][0], 0);
    EXPECT_LE(r["iterations"][2][0], 5);
    if (r["status"][2][0] == 8)
      for (double x : r["u"][2])
        EXPECT_TRUE(std::isnan(x)) << options << ", " << name << " " << value;
    return r["status"][2][0];
  };
  for (double bad : {0.0, -1.0, double(NAN)}) {
    SCOPED_TRACE(bad);
    EXPECT_EQ(statusOf("f64", "eps", bad), 8);
    EXPECT_EQ(statusOf("f64,rho_a=1", "rho_a", bad), 16);
    EXPECT_EQ(statusOf("f64,rho_b=1", "rho_b", bad), 16);
    EXPECT_EQ(statusOf("f64,omega=1.1", "omega", bad), 32);
    EXPECT_EQ(statusOf("f64,anneal=geometric", "eps0", bad), 8);
    EXPECT_EQ(statusOf("f64,anneal=geometric", "decay", bad), 8);
  }
  EXPECT_EQ(statusOf("f64", "eps", kInf), 8);
  EXPECT_EQ(statusOf("f32", "eps", 1e39), 8);  // infinite in f32
  EXPECT_EQ(statusOf("f32", "eps", 1e-46), 8); // 0 in f32
  EXPECT_EQ(statusOf("f32", "eps", 1e-40), 8); // 1 / eps is infinite in f32
  EXPECT_EQ(statusOf("f64", "eps", 1e-310), 8);
  EXPECT_EQ(statusOf("f64,omega=1.1", "omega", 2), 32);
  EXPECT_EQ(statusOf("f64,anneal=geometric", "decay", 1), 8);
  EXPECT_EQ(statusOf("f64", "tol", NAN), 0);
}

/// An infinite rho is a side that is not relaxed.
TEST_P(Sinkhorn, InfiniteRho) {
  Problem p = oracle::randomProblem(8, 5, 1);
  Scalars scalars{{"eps", 0.2}, {"limit", 20}, {"tol", -1}};
  Results balanced = solve("dtype=f64", {p}, scalars);
  scalars["rho_a"] = scalars["rho_b"] = kInf;
  Results relaxed = solve("dtype=f64,rho_a=1,rho_b=1", {p}, scalars);
  expectNear(relaxed["u"][0], balanced["u"][0], 1e-14, "u");
  EXPECT_EQ(relaxed["status"][0], Vector{0});
}

/// A matrix that is stored by columns is solved in another order, with the same
/// results.
TEST_P(Sinkhorn, LayoutsAgree) {
  std::vector<Problem> problems;
  for (auto [n, m] : {std::pair(6, 9), {9, 6}, {1, 4}, {4, 1}, {1, 1}, {5, 5}})
    problems.push_back(oracle::randomProblem(n, m, 10 * n + m));
  Problem masked = problems[0], stuckRow = masked, stuckColumn = masked,
          nothing = masked, lost = masked;
  for (int j = 0; j < 9; ++j) {
    masked.at(j % 6, j) = kInf;
    stuckRow.at(2, j) = kInf;
  }
  for (int i = 0; i < 6; ++i)
    stuckColumn.at(i, 3) = kInf;
  masked.b[8] += masked.b[1];
  masked.b[1] = 0;
  masked.a[0] += masked.a[4];
  masked.a[4] = 0;
  nothing.cost[7] = NAN;
  lost.b[0] = 2;
  for (const Problem &p : {masked, stuckRow, stuckColumn, nothing, lost})
    problems.push_back(p);
  for (auto [n, m] : {std::pair(0, 3), {3, 0}, {0, 0}})
    problems.push_back(oracle::randomProblem(n, m, 1));
  for (std::string sides :
       {",norm=l1", ",norm=l2,rho_a=1,rho_b=2", ",norm=max,rho_b=1,omega=1.2"})
    for (std::string order : {"u", "v"})
      for (double limit :
           {0.0, 2.0, GetParam() == Executor::panels ? 20.0 : 300.0}) {
        std::string options = "dtype=f64,order=" + order + sides +
                              ",outputs=potentials/plan/argmax/marginals/cost/"
                              "dual/history";
        SCOPED_TRACE(options);
        Lists lists{
            {"errors", std::vector<Vector>(problems.size(), Vector(4, -1))}};
        Scalars scalars{{"eps", 0.2}, {"tol", 1e-7}, {"limit", limit}};
        spreads = false;
        Results byRows = solve(options, problems, scalars, lists);
        spreads = true;
        Results byColumns =
            solve(options + ",layout=column", problems, scalars, lists);
        ASSERT_EQ(byRows.lists.size(), byColumns.lists.size());
        for (auto &[name, members] : byRows.lists)
          for (size_t m = 0; m < problems.size(); ++m) {
            SCOPED_TRACE(m);
            const Vector &other = byColumns[name][m];
            ASSERT_EQ(members[m].size(), other.size()) << name;
            for (size_t k = 0; k < other.size(); ++k)
              if (std::isnan(members[m][k]))
                ASSERT_TRUE(std::isnan(other[k])) << name;
              else
                expectNear({other[k]}, {members[m][k]}, 1e-10, name);
          }
      }
}

} // namespace
} // namespace heddle::test

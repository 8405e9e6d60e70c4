//===- SinkhornRoundingTest.cpp - rounding does not keep a problem running ===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In f32, rounding changes a tenth of the potentials of a relaxed side in every
// iteration: the panel loop computes a row's shift and the column terms from
// the rounded potentials before. Unless such changes count as 0, many problems
// never stop.
//
//===----------------------------------------------------------------------===//

#include "SinkhornHarness.h"

namespace heddle::test {
namespace {

/// Solves `p` in f32 and expects that it stops, near the solution in double. An
/// iteration reduces the distance to the solution by the factor `rate`.
/// Returns the iterations.
using Solve = llvm::function_ref<Results(const std::string &, const Scalars &)>;
void expectStops(const Problem &p, Settings s, const std::string &options,
                 double tol, Solve solve) {
  SCOPED_TRACE(options + ", eps " + std::to_string(s.eps));
  Scalars scalars{{"eps", s.eps}, {"tol", tol}, {"limit", 400}};
  std::string sides;
  double rate = 1;
  for (auto [name, rho] :
       {std::pair("rho_a", s.rhoA), std::pair("rho_b", s.rhoB)})
    if (rho != kInf) {
      sides += std::string(",") + name + "=1";
      scalars[name] = rho;
      rate *= rho / (rho + s.eps);
    }
  Results r = solve("dtype=f32" + sides + options, scalars);
  ASSERT_FALSE(r.lists.empty());
  EXPECT_EQ(r["converged"][0], Vector{1});
  EXPECT_EQ(r["status"][0], Vector{0});
  EXPECT_LE(r["error"][0][0], tol);
  s.tol = 1e-12;
  s.limit = 5000;
  Problem rounded = p;
  for (Vector *x : {&rounded.cost, &rounded.a, &rounded.b})
    for (double &c : *x)
      c = static_cast<float>(c);
  Solution exact = oracle::solve(rounded, s);
  EXPECT_LT(r["iterations"][0][0], exact.iterations);
  for (auto [name, wanted] :
       {std::pair("u", &exact.u), std::pair("v", &exact.v)})
    for (size_t k = 0; k < wanted->size(); ++k)
      ASSERT_NEAR(r[name][0][k], (*wanted)[k], 4e-6 / (1 - rate)) << name;
}

TEST_P(Sinkhorn, StopsInSpiteOfRounding) {
  std::vector<std::pair<int, int>> sizes{{33, 65}, {300, 200}};
  if (GetParam() == Executor::cpu)
    sizes.push_back({700, 900});
  for (auto [n, m] : sizes) {
    SCOPED_TRACE(std::to_string(n) + "x" + std::to_string(m));
    Problem p = oracle::randomProblem(n, m, n);
    auto solveOne = [&](const std::string &options, const Scalars &scalars) {
      return solve(options, {p}, scalars);
    };
    Settings s;
    s.eps = 0.2;
    s.rhoA = s.rhoB = 1;
    expectStops(p, s, "", 1e-6, solveOne);
    // All changes are within rounding at the end.
    s.columnsFirst = true;
    expectStops(p, s, ",order=v,norm=max", 0, solveOne);
  }
}

} // namespace
} // namespace heddle::test

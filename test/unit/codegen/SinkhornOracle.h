//===- SinkhornOracle.h - optimal transport in plain loops ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two log-domain updates as in textbooks, in double, with one traversal of
// the matrix for each. Shares no code with the library.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_SINKHORNORACLE_H
#define HEDDLE_TEST_UNIT_CODEGEN_SINKHORNORACLE_H

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace heddle::test::oracle {

using Vector = std::vector<double>;
inline constexpr double kInf = std::numeric_limits<double>::infinity();

struct Problem {
  int64_t rows = 0, columns = 0;
  Vector cost, a, b;
  double &at(int64_t i, int64_t j) { return cost[i * columns + j]; }
  double at(int64_t i, int64_t j) const { return cost[i * columns + j]; }
};

struct Settings {
  double eps = 0.5;
  /// Infinite: the side is not relaxed.
  double rhoA = kInf, rhoB = kInf;
  double omega = 1, tol = 0;
  bool entropy = false, columnsFirst = false;
  std::string norm = "l1";
  int limit = 20;
  /// The eps of an iteration, with annealing.
  std::function<double(int)> epsOf;
};

struct Solution {
  Vector u, v; // the plan is exp(u + v - C / eps)
  double error = kInf;
  int iterations = 0;
  Vector errors; // of each iteration
};

Problem randomProblem(int64_t rows, int64_t columns, uint64_t seed);

/// `start` gives the initial potentials, in units of `settings.eps`.
Solution solve(const Problem &problem, const Settings &settings,
               const Solution *start = nullptr);

struct Outputs {
  Vector plan, rowSums, columnSums;
  double cost = 0, primal = 0, dual = 0;
};

/// The outputs for given potentials; `primal` is the objective of the
/// regularized problem.
Outputs outputsOf(const Problem &problem, const Settings &settings,
                  const Vector &u, const Vector &v);

} // namespace heddle::test::oracle

#endif // HEDDLE_TEST_UNIT_CODEGEN_SINKHORNORACLE_H

//===- SinkhornOracle.h - optimal transport in plain loops ------*- C++ -*-===//
//
// The two updates of the log domain as textbooks have them, in double, each
// with a pass over the matrix of its own. Shares no code with the library.
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
  /// Infinite: sums are met exactly.
  double rhoA = kInf, rhoB = kInf;
  double omega = 1, tol = 0;
  bool entropy = false, columnsFirst = false;
  std::string norm = "l1";
  int limit = 20;
  /// eps of an iteration, where it is annealed.
  std::function<double(int)> epsOf;
};

struct Solution {
  Vector u, v; // the plan is exp(u + v - C / eps)
  double error = kInf;
  int iterations = 0;
  Vector errors; // of each iteration
};

Problem randomProblem(int64_t rows, int64_t columns, uint64_t seed);

/// `start`: potentials to begin with, in units of `settings.eps`.
Solution solve(const Problem &problem, const Settings &settings,
               const Solution *start = nullptr);

struct Outputs {
  Vector plan, rowSums, columnSums;
  double cost = 0, primal = 0, dual = 0;
};

/// What follows from potentials; `primal` is what the regularized problem
/// minimizes.
Outputs outputsOf(const Problem &problem, const Settings &settings,
                  const Vector &u, const Vector &v);

} // namespace heddle::test::oracle

#endif // HEDDLE_TEST_UNIT_CODEGEN_SINKHORNORACLE_H

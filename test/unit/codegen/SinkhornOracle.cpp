//===- SinkhornOracle.cpp - optimal transport in plain loops --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SinkhornOracle.h"

namespace heddle::test::oracle {

Problem randomProblem(int64_t rows, int64_t columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
  Problem problem{rows, columns, Vector(rows * columns), Vector(rows),
                  Vector(columns)};
  for (double &c : problem.cost)
    c = uniform();
  for (Vector *weights : {&problem.a, &problem.b}) {
    double sum = 0;
    for (double &w : *weights)
      sum += w = 0.1 + uniform();
    for (double &w : *weights)
      w /= sum;
  }
  return problem;
}

/// log sum_k exp(term(k)).
static double logSumExp(int64_t count,
                        const std::function<double(int64_t)> &term) {
  double most = -kInf, sum = 0;
  for (int64_t k = 0; k < count; ++k)
    most = std::fmax(most, term(k));
  if (most == -kInf)
    return -kInf;
  for (int64_t k = 0; k < count; ++k)
    sum += std::exp(term(k) - most);
  return most + std::log(sum);
}

/// The new potential of a point of weight `weight`.
static double updated(double weight, double sum, double rho, double eps,
                      bool entropy) {
  if (sum == -kInf)
    return -kInf;
  double tau = rho == kInf ? 1 : rho / (rho + eps);
  return entropy ? tau * (std::log(weight) - sum)
                 : std::log(weight) - tau * sum;
}

static double damped(double before, double next, double omega) {
  return before == -kInf ? next : (1 - omega) * before + omega * next;
}

static double normOf(const Vector &x, const std::string &norm) {
  double sum = 0, most = 0;
  for (double d : x) {
    sum += norm == "l2" ? d * d : d;
    most = std::fmax(most, d);
  }
  return norm == "max" ? most : norm == "l2" ? std::sqrt(sum) : sum;
}

Solution solve(const Problem &problem, const Settings &settings,
               const Solution *start) {
  int64_t n = problem.rows, m = problem.columns;
  Solution s;
  s.u = start ? start->u : Vector(n);
  s.v = start ? start->v : Vector(m);
  double eps = settings.eps;
  for (; s.iterations < settings.limit; ++s.iterations) {
    double now = settings.epsOf ? settings.epsOf(s.iterations) : settings.eps;
    for (Vector *x : {&s.u, &s.v})
      for (double &w : *x)
        w *= eps / now;
    eps = now;
    Vector missed;
    auto half = [&](bool rows, bool measure) {
      Vector &mine = rows ? s.u : s.v, &other = rows ? s.v : s.u;
      const Vector &weights = rows ? problem.a : problem.b;
      double rho = rows ? settings.rhoA : settings.rhoB;
      Vector next(mine.size());
      for (int64_t k = 0; k < static_cast<int64_t>(mine.size()); ++k) {
        double sum = logSumExp(other.size(), [&](int64_t o) {
          return other[o] - (rows ? problem.at(k, o) : problem.at(o, k)) / eps;
        });
        double target = updated(weights[k], sum, rho, eps, settings.entropy);
        next[k] = damped(mine[k], target, settings.omega);
        if (measure && rho == kInf)
          missed.push_back(std::fabs(std::exp(mine[k] + sum) - weights[k]));
        else if (measure)
          missed.push_back(next[k] == mine[k] ? 0
                                              : std::fabs(next[k] - mine[k]));
      }
      mine = next;
    };
    half(!settings.columnsFirst, true);
    half(settings.columnsFirst, false);
    s.error = normOf(missed, settings.norm);
    s.errors.push_back(s.error);
    if (eps > settings.eps)
      s.error = kInf;
    if (!(s.error > settings.tol)) {
      ++s.iterations;
      break;
    }
  }
  for (Vector *x : {&s.u, &s.v})
    for (double &w : *x)
      w *= eps / settings.eps;
  return s;
}

/// x log(x / y) - x + y.
static double relativeEntropy(double x, double y) {
  return x == 0 ? y : x * std::log(x / y) - x + y;
}

Outputs outputsOf(const Problem &problem, const Settings &settings,
                  const Vector &u, const Vector &v) {
  Outputs out;
  int64_t n = problem.rows, m = problem.columns;
  out.rowSums.resize(n);
  out.columnSums.resize(m);
  double mass = 0, product = 0, regularizer = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      double c = problem.at(i, j), ab = problem.a[i] * problem.b[j];
      double p = std::exp(u[i] + v[j] - c / settings.eps);
      out.plan.push_back(p);
      out.rowSums[i] += p;
      out.columnSums[j] += p;
      out.cost += p == 0 ? 0 : p * c;
      mass += p;
      product += ab;
      regularizer += !settings.entropy ? relativeEntropy(p, ab)
                     : p == 0          ? 0
                                       : p * (std::log(p) - 1);
    }
  out.primal = out.cost + settings.eps * regularizer;
  out.dual = -settings.eps * (mass - (settings.entropy ? 0 : product));
  auto side = [&](const Vector &potentials, const Vector &weights,
                  const Vector &sums, double rho) {
    for (size_t k = 0; k < weights.size(); ++k) {
      double w = weights[k];
      if (rho != kInf)
        out.primal += rho * relativeEntropy(sums[k], w);
      if (w == 0)
        continue;
      double f =
          settings.eps * (potentials[k] - (settings.entropy ? 0 : std::log(w)));
      // Any potential is possible for a point without an allowed entry.
      bool empty = potentials[k] == -kInf;
      out.dual += rho == kInf ? (empty ? kInf : w * f)
                  : empty     ? w * rho
                              : w * rho * -std::expm1(-f / rho);
    }
  };
  side(u, problem.a, out.rowSums, settings.rhoA);
  side(v, problem.b, out.columnSums, settings.rhoB);
  return out;
}

} // namespace heddle::test::oracle

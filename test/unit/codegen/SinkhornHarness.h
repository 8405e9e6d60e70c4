//===- SinkhornHarness.h - runs `sinkhorn` in all executors -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The executors are the interpreter, the cpu target, and the CUDA source of
// panel loops, executed on the host.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_SINKHORNHARNESS_H
#define HEDDLE_TEST_UNIT_CODEGEN_SINKHORNHARNESS_H

#include "CudaHarness.h"
#include "SinkhornOracle.h"
#include "gtest/gtest.h"

#include <map>

namespace heddle::test {

using oracle::kInf;
using oracle::Problem;
using oracle::Settings;
using oracle::Solution;
using oracle::Vector;

enum class Executor { interpreter, cpu, panels };

void PrintTo(Executor executor, std::ostream *os);

/// The members of each result, by name.
struct Results {
  const std::vector<Vector> &operator[](const std::string &name) const {
    auto found = lists.find(name);
    if (found != lists.end())
      return found->second;
    ADD_FAILURE() << "there is no result " << name;
    static const std::vector<Vector> none(64, Vector(64));
    return none;
  }
  std::map<std::string, std::vector<Vector>> lists;
};
using Lists = std::map<std::string, std::vector<Vector>>;
using Scalars = std::map<std::string, double>;

class Sinkhorn : public testing::TestWithParam<Executor> {
protected:
  /// Solves `problems` once by `sinkhorn:OPTIONS`. `lists` holds values of
  /// arguments by name; by default `C`, `a` and `b` come from the problems.
  Results solve(const std::string &options,
                const std::vector<Problem> &problems,
                const Scalars &scalars = {}, Lists lists = {});

  static Inputs inputsFor(Program &program,
                          const std::vector<Problem> &problems,
                          const Scalars &scalars, Lists &lists, bool byColumns);

  /// Whether matrices are parts of larger ones.
  bool spreads = false;
  /// Whether some matrix is too wide for the panels of these tests.
  bool isWide = false;
};

void expectNear(const Vector &found, const Vector &expected, double tolerance,
                const std::string &what);

/// Sets the weights of some points to 0, and scales the others to a sum of 1.
void removeWeights(Problem &p, std::initializer_list<int> rows,
                   std::initializer_list<int> columns);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_SINKHORNHARNESS_H

//===- OptimizerCheck.h - standard optimizers against loops -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a standard program beside a plain loop over one tensor.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_DIALECT_OPTIMIZERCHECK_H
#define HEDDLE_TEST_UNIT_DIALECT_OPTIMIZERCHECK_H

#include "Runner.h"

#include <functional>

namespace heddle::test {

/// The elements of one tensor in a step: the parameter, the gradient, and the
/// state by name.
struct Element {
  double p, g;
  std::map<std::string, double> state;
};

/// The step `t` of one element.
using Step = std::function<void(int t, Element &x)>;

/// Runs `text`, whose lists have the type `storage`, for 100 steps, and
/// compares it with `step`. `initial` has the names of the state and its
/// initial values.
inline void checkOptimizer(const std::string &text, Storage storage,
                           const std::map<std::string, double> &initial,
                           bool countsSteps, const Step &step) {
  SCOPED_TRACE(text);
  Context context;
  Runner runner = Runner::library(context, text);
  EXPECT_EQ(runner.function.getNumResults(), initial.size() + 1 + countsSteps);
  std::mt19937_64 random(11);
  auto rounded = [&](double scale) {
    auto list = raggedList(random, scale);
    for (Vector &member : list)
      for (double &x : member)
        x = store(storage, x);
    return list;
  };
  auto p = rounded(1);
  std::map<std::string, std::vector<Vector>> state;
  for (auto [name, value] : initial) {
    state[name] = p;
    for (Vector &member : state[name])
      member.assign(member.size(), value);
    runner.set(name, state[name]);
  }
  runner.set("param", p);
  if (countsSteps)
    runner.setEach("step", Vector(p.size(), 0.0));
  for (int t = 1; t <= 100; ++t) {
    auto g = rounded(t % 10 ? 0.5 : 3);
    runner.set("grad", g);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    for (size_t i = 0; i < p.size(); ++i)
      for (size_t k = 0; k < p[i].size(); ++k) {
        Element x{p[i][k], g[i][k], {}};
        for (auto &[name, members] : state)
          x.state[name] = members[i][k];
        step(t, x);
        p[i][k] = store(storage, x.p);
        for (auto &[name, members] : state)
          members[i][k] = store(storage, x.state[name]);
      }
  }
  expectNear(runner["param"], p, storage, "param");
  for (auto &[name, members] : state)
    expectNear(runner[name], members, storage, name);
  for (size_t k = 0; countsSteps && k < p.size(); ++k)
    EXPECT_EQ(runner.number("step", k), 100);
}

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_DIALECT_OPTIMIZERCHECK_H

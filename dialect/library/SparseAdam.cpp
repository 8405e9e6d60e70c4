//===- SparseAdam.cpp - Adam for gradients that are mostly 0 --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are those of torch's SparseAdam. There, a sparse gradient names
// the elements that a step changes; here, they are those whose gradient is not
// 0.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct SparseAdamOptions : OptimizerOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    OptimizerOptions::describe(list);
  }
};
} // namespace

static void sparseAdam(Rule &rule, const SparseAdamOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  auto v = rule.state("exp_avg_sq"), t = rule.step();
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);

  Term moves = (g != 0).as("moves");
  m = where(moves, m + (1 - b1) * (g - m), m);
  v = where(moves, v + (1 - b2) * (g * g - v), v);
  Term rate = lr * sqrt(1 - pow(b2, t)) / (1 - pow(b1, t));
  p = where(moves, p - rate * (m / (sqrt(v) + eps)), p);
}

std::vector<Entry> sparseAdamPrograms() {
  return {optimizer("sparse_adam",
                    "Adam that leaves elements without gradient as they are",
                    sparseAdam)};
}

} // namespace heddle::library

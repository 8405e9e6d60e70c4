//===- Adadelta.cpp - Adadelta --------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's. No value depends on the number of steps, but torch
// keeps it in the state.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AdadeltaOptions : OptimizerOptions {
  double lr = 1, rho = 0.9, eps = 1e-6, weightDecay = 0;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("rho", rho, "decay of the means of squares", {0, 1});
    list.add("eps", eps, "added to the means of squares", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    OptimizerOptions::describe(list);
  }
};
} // namespace

static void adadelta(Rule &rule, const AdadeltaOptions &o) {
  auto p = rule.param(), g = rule.grad();
  auto v = rule.state("square_avg"), changes = rule.state("acc_delta");
  Term lr = rule.hyper("lr", o.lr), rho = rule.hyper("rho", o.rho);
  Term eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  rule.countSteps();

  if (o.weightDecay != 0)
    g += decay * p;
  v = v * rho + (1 - rho) * g * g;
  Term change = (sqrt(changes + eps) / sqrt(v + eps) * g).as("delta");
  changes = changes * rho + (1 - rho) * change * change;
  p -= lr * change;
}

std::vector<Entry> adadeltaPrograms() {
  return {optimizer("adadelta", "Adadelta: steps in proportion to those before",
                    adadelta)};
}

} // namespace heddle::library

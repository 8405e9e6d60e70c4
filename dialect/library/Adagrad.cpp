//===- Adagrad.cpp - Adagrad ----------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's. Without a decay of the learning rate no value
// depends on the number of steps, but torch keeps it in the state.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AdagradOptions : OptimizerOptions {
  double lr = 1e-2, lrDecay = 0, weightDecay = 0, initial = 0, eps = 1e-10;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("lr_decay", lrDecay,
             "decay of the learning rate; 0 omits it from the program",
             kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("initial_accumulator_value", initial,
             "the sum of squared gradients before the first step",
             kNotNegative);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    OptimizerOptions::describe(list);
  }
};
} // namespace

static void adagrad(Rule &rule, const AdagradOptions &o) {
  auto p = rule.param(), g = rule.grad(), total = rule.state("sum", o.initial);
  Term lr = element(rule.hyper("lr", o.lr)), eps = rule.hyper("eps", o.eps);
  Term lrDecay = rule.hyper("lr_decay", o.lrDecay), t = rule.countSteps();
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    g += decay * p;
  total += g * g;
  Term rate = o.lrDecay != 0 ? lr / (1 + (t - 1) * lrDecay) : lr;
  p -= rate * (g / (sqrt(total) + eps).as("denom"));
}

std::vector<Entry> adagradPrograms() {
  return {optimizer("adagrad", "Adagrad, optionally with a decaying rate",
                    adagrad)};
}

} // namespace heddle::library

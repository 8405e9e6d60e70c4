//===- Yogi.cpp - Yogi ----------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zaheer et al., "Adaptive Methods for Nonconvex Optimization", 2018. The order
// of operations, bias corrections and defaults are those of the class Yogi of
// torch_optimizer.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct YogiOptions : MomentumOptions {
  double lr = 1e-2, beta1 = 0.9, beta2 = 0.999, eps = 1e-3;
  double initial = 1e-6, weightDecay = 0;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of gradients", kDecay);
    list.add("beta2", beta2, "1 minus the rate of the second moment", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("initial_accumulator", initial,
             "both moments before the first step", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    MomentumOptions::describe(list);
  }
};
} // namespace

static void yogi(Rule &rule, const YogiOptions &o) {
  auto p = rule.param(), g = rule.grad();
  auto m = rule.state("exp_avg", o.initial);
  auto v = rule.state("exp_avg_sq", o.initial), t = rule.step();
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    g += decay * p;
  m = m * b1 + (1 - b1) * g;
  Term square = (g * g).as("square");
  v -= (1 - b2) * sign(v - square) * square;
  Term deviation = sqrt(v) / sqrt(1 - pow(b2, t));
  Term mean = o.cautious ? cautious(m, g) : m;
  p -= lr / (1 - pow(b1, t)) * (mean / (deviation + eps).as("denom"));
}

std::vector<Entry> yogiPrograms() {
  return {optimizer("yogi", "Yogi: Adam with a second moment that grows slowly",
                    yogi)};
}

} // namespace heddle::library

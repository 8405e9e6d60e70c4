//===- Laprop.cpp - LaProp ------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ziyin et al., "LaProp: Separating Momentum and Adaptivity in Adam", 2020. The
// formulas, their order and the defaults are those of the authors' laprop.py.
// The momentum contains the learning rates of its gradients; `exp_avg_lr_1` is
// the same mean of the rates alone. Its counterpart for the squares is 1 -
// beta2^t, so it is no state here.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct LapropOptions : MomentumOptions {
  double lr = 4e-4, beta1 = 0.9, beta2 = 0.999, eps = 1e-15, weightDecay = 0;
  bool amsgrad = false, centered = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of scaled gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay, not multiplied by the learning rate; 0 omits it "
             "from the program",
             kNotNegative);
    list.add("amsgrad", amsgrad,
             "divide by the largest mean of squares so far");
    list.add("centered", centered,
             "divide by an estimate of the variance after 10 steps");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void laprop(Rule &rule, const LapropOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  auto rates = rule.tensorState("exp_avg_lr_1"), v = rule.state("exp_avg_sq");
  auto mean = rule.state("exp_mean_avg_beta2");
  auto vmax = rule.state("max_exp_avg_sq"), t = rule.step();
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  v = v * b2 + (1 - b2) * g * g;
  rates = rates * b1 + (1 - b1) * lr;
  Term stepSize = where(lr != 0, lr / rates, 1).as("step_size");
  Term second = v;
  Term isCentered = (t > 10).as("is_centered");
  if (o.centered) {
    mean = mean * b2 + (1 - b2) * g;
    second = where(isCentered, v - mean * mean, v).as("variance");
  }
  if (o.amsgrad) {
    Term most = maximum(vmax, second).as("most");
    vmax = o.centered ? where(isCentered, most, vmax) : most;
    second = o.centered ? where(isCentered, vmax, second) : vmax;
  }
  Term denom = (sqrt(second / (1 - pow(b2, t))) + eps).as("denom");
  m = m * b1 + (1 - b1) * lr * (g / denom);
  p -= stepSize * (o.cautious ? cautious(m, g) : m);
  if (o.weightDecay != 0)
    p -= decay * p;
}

std::vector<Entry> lapropPrograms() {
  return {optimizer("laprop", "LaProp: momentum of gradients that are scaled",
                    laprop)};
}

} // namespace heddle::library

//===- Novograd.cpp - NovoGrad --------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ginsburg et al., "Stochastic Gradient Methods with Layer-wise Adaptive
// Moments for Training of Deep Networks", 2019. The formulas, their order and
// the defaults are those of the authors' class Novograd in NeMo, without its
// clipping of updates (luc), which the paper does not have. The second moment
// is one number for each tensor.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct NovogradOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.95, beta2 = 0.98, eps = 1e-8, weightDecay = 0;
  bool averages = false, amsgrad = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the sum of scaled gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of squared norms", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("grad_averaging", averages,
             "take a mean of scaled gradients, not a sum");
    list.add("amsgrad", amsgrad, "divide by the largest mean so far");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void novograd(Rule &rule, const NovogradOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  auto v = rule.tensorState("exp_avg_sq");
  auto vmax = rule.tensorState("max_exp_avg_sq");
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  rule.countSteps();

  Term size = norm(g).as("size"), square = size * size;
  v = where(v == 0, square, v * b2 + (1 - b2) * square);
  if (o.amsgrad)
    vmax = maximum(vmax, v);
  g /= (sqrt(o.amsgrad ? vmax : v) + eps).as("denom");
  if (o.weightDecay != 0)
    g += decay * p;
  m = m * b1 + (o.averages ? g * (1 - b1) : g);
  p -= lr * (o.cautious ? cautious(m, g) : m);
}

std::vector<Entry> novogradPrograms() {
  return {optimizer("novograd", "NovoGrad: one second moment for each tensor",
                    novograd)};
}

} // namespace heddle::library

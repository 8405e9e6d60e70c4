//===- Adamax.cpp - Adamax ------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and their order match torch's loop over tensors.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AdamaxOptions : MomentumOptions {
  double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add(
        "beta1", beta1,
        "decay of the mean of gradients; one of at most 0.5 makes a program "
        "for all decays, others one for decays above 0.5",
        kDecay);
    list.add("beta2", beta2, "decay of the largest gradient", kDecay);
    list.add("eps", eps, "added to the magnitude of gradients", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    MomentumOptions::describe(list);
  }
};
} // namespace

static void adamax(Rule &rule, const AdamaxOptions &o) {
  auto p = rule.param(), g = rule.grad();
  auto m = rule.state("exp_avg"), largest = rule.state("exp_inf");
  auto t = rule.step();
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    g += decay * p;
  m.lerp(g, 1 - b1, 1 - o.beta1);
  largest = maximum(largest * b2, abs(g) + eps);
  Term mean = o.cautious ? cautious(m, g) : m;
  p -= (lr / (1 - pow(b1, t))).as("step_size") * (mean / largest);
}

std::vector<Entry> adamaxPrograms() {
  return {optimizer("adamax", "Adamax: Adam with the largest gradient so far",
                    adamax)};
}

} // namespace heddle::library

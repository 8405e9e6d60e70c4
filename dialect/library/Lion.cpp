//===- Lion.cpp - Lion ----------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct LionOptions : MomentumOptions {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weightDecay = 0;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "weight of the mean in the direction", kDecay);
    list.add("beta2", beta2, "decay of the mean of gradients", kDecay);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    MomentumOptions::describe(list);
  }
};
} // namespace

static void lion(Rule &rule, const LionOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    p *= 1 - lr * decay;
  Term update = sign(b1 * m + (1 - b1) * g);
  p -= lr * (o.cautious ? cautious(update, g) : update);
  m = b2 * m + (1 - b2) * g;
}

std::vector<Entry> lionPrograms() {
  return {optimizer("lion", "Lion: steps by the sign of an interpolated mean",
                    lion)};
}

} // namespace heddle::library

//===- Nadam.cpp - NAdam --------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and their order match torch's loop over tensors, which keeps
// the product of the momenta in single precision.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct NadamOptions : MomentumOptions {
  double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
  double momentumDecay = 4e-3;
  bool decoupled = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add(
        "beta1", beta1,
        "decay of the mean of gradients; one of at most 0.5 makes a program "
        "for all decays, others one for decays above 0.5",
        kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("momentum_decay", momentumDecay, "rate at which momentum grows",
             kNotNegative);
    list.add("decoupled", decoupled,
             "apply the decay to the parameters, not to the gradients");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void nadam(Rule &rule, const NadamOptions &o) {
  auto p = rule.param(), g = rule.grad();
  auto m = rule.state("exp_avg"), v = rule.state("exp_avg_sq");
  auto product = rule.tensorState("mu_product", 1), t = rule.step();
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  Term rate = rule.hyper("momentum_decay", o.momentumDecay);
  auto momentum = [&](const Term &step) {
    return b1 * (1 - 0.5 * pow(0.96, step * rate));
  };

  if (o.weightDecay != 0 && o.decoupled)
    p *= 1 - lr * decay;
  else if (o.weightDecay != 0)
    g += decay * p;
  Term mu = momentum(t).as("mu"), next = momentum(t + 1).as("mu_next");
  product = single(product * single(mu));
  m.lerp(g, 1 - b1, 1 - o.beta1);
  v = v * b2 + (1 - b2) * g * g;
  Term denom = (sqrt(v / (1 - pow(b2, t))) + eps).as("denom");
  Term ofGrad = ((1 - mu) / (1 - product)).as("share_of_grad");
  Term ofMean = (next / (1 - product * next)).as("share_of_mean");
  if (o.cautious) {
    p -= lr * (cautious(ofGrad * g + ofMean * m, g) / denom);
    return;
  }
  p -= lr * ofGrad * (g / denom);
  p -= lr * ofMean * (m / denom);
}

std::vector<Entry> nadamPrograms() {
  return {optimizer("nadam", "NAdam: Adam with Nesterov momentum", nadam)};
}

} // namespace heddle::library

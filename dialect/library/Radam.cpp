//===- Radam.cpp - RAdam --------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and their order match torch's loop over tensors, which divides
// by the mean of squares once this mean covers more than 5 gradients.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct RadamOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
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
    list.add("decoupled", decoupled,
             "apply the decay to the parameters, not to the gradients");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void radam(Rule &rule, const RadamOptions &o) {
  auto p = rule.param(), g = rule.grad(), t = rule.step();
  auto m = rule.state("exp_avg"), v = rule.state("exp_avg_sq");
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0 && o.decoupled)
    p *= 1 - lr * decay;
  else if (o.weightDecay != 0)
    g += decay * p;
  m.lerp(g, 1 - b1, 1 - o.beta1);
  v = v * b2 + (1 - b2) * g * g;
  Term correction = 1 - pow(b2, t), limit = (2 / (1 - b2) - 1).as("rho_inf");
  Term length = (limit - 2 * t * pow(b2, t) / correction).as("rho");
  Term rect = sqrt((length - 4) * (length - 2) * limit /
                   ((limit - 4) * (limit - 2) * length));
  Term scale = (rect * sqrt(correction)).as("rectified");
  Term adaptive = where(length > 5, scale / (sqrt(v) + eps).as("denom"), 1);
  Term mean = o.cautious ? cautious(m, g) : m;
  p -= mean / (1 - pow(b1, t)) * lr * adaptive;
}

std::vector<Entry> radamPrograms() {
  return {optimizer("radam", "RAdam: Adam with a rectified variance", radam)};
}

} // namespace heddle::library

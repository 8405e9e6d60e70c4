//===- Adam.cpp - Adam and AdamW ------------------------------------------===//
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
struct AdamOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
  bool amsgrad = false, decoupled = false;

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
    list.add("amsgrad", amsgrad,
             "divide by the largest mean of squares so far");
    list.add("decoupled", decoupled,
             "apply the decay to the parameters (AdamW), not to the gradients");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void adam(Rule &rule, const AdamOptions &o) {
  auto p = rule.param(), g = rule.grad();
  auto m = rule.state("exp_avg"), v = rule.state("exp_avg_sq");
  auto vmax = rule.state("max_exp_avg_sq"), t = rule.step();
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0 && o.decoupled)
    p *= 1 - lr * decay;
  else if (o.weightDecay != 0)
    g += decay * p;
  m.lerp(g, 1 - b1, 1 - o.beta1);
  v = v * b2 + (1 - b2) * g * g;
  if (o.amsgrad)
    vmax = maximum(vmax, v);
  Term stepSize = (lr / (1 - pow(b1, t))).as("step_size");
  Term deviation = sqrt(o.amsgrad ? vmax : v) / sqrt(1 - pow(b2, t));
  Term mean = o.cautious ? cautious(m, g) : m;
  p -= stepSize * (mean / (deviation + eps).as("denom"));
}

std::vector<Entry> adamPrograms() {
  AdamOptions adamw;
  adamw.decoupled = true;
  adamw.weightDecay = 1e-2;
  return {optimizer("adam",
                    "Adam, with L2 regularization if it has a weight decay",
                    adam),
          optimizer("adamw", "Adam with decoupled weight decay", adam, adamw)};
}

} // namespace heddle::library

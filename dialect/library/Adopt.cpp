//===- Adopt.cpp - ADOPT --------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Taniguchi et al., "ADOPT: Modified Adam Can Converge with Any beta2 with the
// Optimal Rate", 2024. The formulas, their order and the defaults are those of
// the authors' adopt.py with its clipping by the fourth root of the number of
// steps so far. The first step only stores the square of the gradient.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AdoptOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.9999, eps = 1e-6, weightDecay = 0;
  bool clip = true, decouple = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add(
        "beta1", beta1,
        "decay of the mean of scaled gradients; one of at most 0.5 makes a "
        "program for all decays, others one for decays above 0.5",
        kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("eps", eps, "smallest denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("clip", clip,
             "clip scaled gradients at the fourth root of the number of steps");
    list.add("decouple", decouple,
             "apply the decay to the parameters, not to the gradients");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void adopt(Rule &rule, const AdoptOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  auto v = rule.state("exp_avg_sq"), t = rule.step();
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  Term old = p, isFirst = (t == 1).as("is_first");

  if (o.weightDecay != 0 && o.decouple)
    p *= 1 - lr * decay;
  else if (o.weightDecay != 0)
    g += decay * p;
  Term scaled = (g / maximum(sqrt(v), eps).as("denom")).as("scaled");
  if (o.clip) {
    Term most = sqrt(sqrt(t - 1)).as("most");
    scaled = minimum(maximum(scaled, -most), most).as("clipped");
  }
  m = where(isFirst, m, lerp(m, scaled, 1 - b1, 1 - o.beta1));
  p -= lr * (o.cautious ? cautious(m, g) : m);
  p = where(isFirst, old, p);
  v = where(isFirst, v + g * g, v * b2 + (1 - b2) * g * g);
}

std::vector<Entry> adoptPrograms() {
  return {optimizer(
      "adopt", "ADOPT: Adam that scales a gradient by those before it", adopt)};
}

} // namespace heddle::library

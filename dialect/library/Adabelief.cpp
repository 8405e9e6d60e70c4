//===- Adabelief.cpp - AdaBelief ------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zhuang et al., "AdaBelief Optimizer", 2020. The formulas, their order and the
// defaults are those of the authors' package adabelief_pytorch 0.2: `eps` is
// added to the stored variance as well, and a rectified step ignores `amsgrad`.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AdabeliefOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-16, weightDecay = 0;
  bool amsgrad = false, decouple = true, fixedDecay = false;
  bool rectify = true, degenerated = true;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of gradients", kDecay);
    list.add("beta2", beta2, "decay of the variance of gradients", kDecay);
    list.add("eps", eps, "added to the variance and to the denominator",
             kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("amsgrad", amsgrad, "divide by the largest variance so far");
    list.add("weight_decouple", decouple,
             "apply the decay to the parameters, not to the gradients");
    list.add("fixed_decay", fixedDecay,
             "do not multiply a decoupled decay by the learning rate");
    list.add("rectify", rectify, "rectify the variance, as RAdam does");
    list.add("degenerated_to_sgd", degenerated,
             "step without a denominator while there is no variance yet");
    MomentumOptions::describe(list);
  }
  std::string check() const {
    if (fixedDecay && !decouple)
      return "option 'fixed_decay=true' needs 'weight_decouple=true': only a "
             "decoupled decay can be fixed";
    return {};
  }
};
} // namespace

/// The factor of RAdam for a step with a variance.
static Term rectification(const Term &length, const Term &longest,
                          const Term &correction) {
  return sqrt(correction * (length - 4) / (longest - 4) * (length - 2) /
              length * longest / (longest - 2));
}

static void adabelief(Rule &rule, const AdabeliefOptions &o) {
  auto p = rule.param(), g = rule.grad();
  auto m = rule.state("exp_avg"), v = rule.state("exp_avg_var");
  auto vmax = rule.state("max_exp_avg_var"), t = rule.step();
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0 && o.decouple)
    p *= o.fixedDecay ? 1 - decay : 1 - lr * decay;
  else if (o.weightDecay != 0)
    g += decay * p;
  m = m * b1 + (1 - b1) * g;
  Term surprise = (g - m).as("surprise");
  v = v * b2 + (1 - b2) * surprise * surprise + eps;
  if (o.amsgrad)
    vmax = maximum(vmax, v);
  Term mean = o.cautious ? cautious(m, g) : m;
  Term first = 1 - pow(b1, t), second = 1 - pow(b2, t);
  if (!o.rectify) {
    Term deviation = sqrt(o.amsgrad ? vmax : v) / sqrt(second);
    p -= lr / first * (mean / (deviation + eps).as("denom"));
    return;
  }
  Term longest = 2 / (1 - b2) - 1;
  Term length = longest - 2 * t * pow(b2, t) / second;
  Term hasVariance = (length >= 5).as("has_variance");
  Term factor = rectification(length, longest, second) / first;
  Term early = o.degenerated ? lr * (1 / first) * mean : Term(0);
  p -= where(hasVariance, lr * factor * (mean / (sqrt(v) + eps).as("denom")),
             early);
}

std::vector<Entry> adabeliefPrograms() {
  return {optimizer("adabelief",
                    "AdaBelief: divides by the gradients' distance from "
                    "their mean",
                    adabelief)};
}

} // namespace heddle::library

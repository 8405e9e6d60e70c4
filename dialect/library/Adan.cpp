//===- Adan.cpp - Adan ----------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Xie et al., "Adan: Adaptive Nesterov Momentum Algorithm", 2022. The formulas,
// their order and the defaults are those of the authors' adan.py, whose betas
// are 1 minus those of the paper. The previous gradient is stored with the
// opposite sign, as there.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AdanOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.98, beta2 = 0.92, beta3 = 0.99, eps = 1e-8;
  double weightDecay = 0, maxGradNorm = 0;
  bool noProx = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of differences of gradients",
             kDecay);
    list.add("beta3", beta3, "decay of the mean of squares", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("max_grad_norm", maxGradNorm,
             "largest norm of all gradients; 0 omits the clipping",
             kNotNegative);
    list.add("no_prox", noProx, "decay before the step, as AdamW does");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void adan(Rule &rule, const AdanOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  auto n = rule.state("exp_avg_sq"), d = rule.state("exp_avg_diff");
  auto previous = rule.state("neg_pre_grad"), t = rule.step();
  Term lr = element(rule.hyper("lr", o.lr)), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), b3 = rule.hyper("beta3", o.beta3);
  Term eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  Term most = rule.hyper("max_grad_norm", o.maxGradNorm);

  if (o.maxGradNorm != 0) {
    Term clip = minimum(most / (norm(g, Over::list) + eps), 1);
    g *= where(most > 0, clip, 1).as("clip");
  }
  Term change = where(t == 1, 0, previous + g).as("change");
  m = m * b1 + (1 - b1) * g;
  d = d * b2 + (1 - b2) * change;
  Term ahead = (change * b2 + g).as("ahead");
  n = n * b3 + (1 - b3) * ahead * ahead;
  previous = -g;
  Term denom = (sqrt(n) / sqrt(1 - pow(b3, t)) + eps).as("denom");
  if (o.weightDecay != 0 && o.noProx)
    p *= 1 - lr * decay;
  Term mean = o.cautious ? cautious(m, g) : m;
  p -= lr / (1 - pow(b1, t)) * (mean / denom);
  p -= lr * b2 / (1 - pow(b2, t)) * (d / denom);
  if (o.weightDecay != 0 && !o.noProx)
    p /= 1 + lr * decay;
}

std::vector<Entry> adanPrograms() {
  return {optimizer("adan", "Adan: Nesterov momentum from changes of gradients",
                    adan)};
}

} // namespace heddle::library

//===- Ademamix.cpp - AdEMAMix --------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pagliardini et al., "The AdEMAMix Optimizer: Better, Faster, Older", 2024.
// The formulas, their order, the schedules of `alpha` and `beta3` and the
// defaults are those of the authors' ademamix.py.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

#include <cmath>

namespace heddle::library {

namespace {
struct AdemamixOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, beta3 = 0.9999, alpha = 2;
  double beta3Warmup = 0, alphaWarmup = 0, eps = 1e-8, weightDecay = 0;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the fast mean of gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("beta3", beta3, "decay of the slow mean of gradients", kDecay);
    list.add("alpha", alpha, "weight of the slow mean", kNotNegative);
    list.add("beta3_warmup", beta3Warmup,
             "steps in which beta3 grows from beta1; 0 omits the schedule",
             kNotNegative);
    list.add("alpha_warmup", alphaWarmup,
             "steps in which alpha grows from 0; 0 omits the schedule",
             kNotNegative);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    MomentumOptions::describe(list);
  }
};
} // namespace

/// 1 less than the number of steps in which a weight of a mean halves.
static Term halfLife(const Term &beta) {
  return std::log(0.5) / log(beta + 1e-8) - 1;
}

/// The decay whose half-life grows linearly, from that of `from` to that of
/// `to`.
static Term warmedUp(const Term &from, const Term &to, const Term &t,
                     const Term &steps) {
  Term share = t / steps;
  Term life = (1 - share) * halfLife(from) + share * halfLife(to);
  return where((t < steps) & (steps > 0), exp(std::log(0.5) / (life + 1)), to);
}

static void ademamix(Rule &rule, const AdemamixOptions &o) {
  auto p = rule.param(), g = rule.grad(), fast = rule.state("exp_avg_fast");
  auto slow = rule.state("exp_avg_slow"), v = rule.state("exp_avg_sq");
  auto t = rule.step();
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), b3 = rule.hyper("beta3", o.beta3);
  Term alpha = rule.hyper("alpha", o.alpha);
  Term beta3Steps = rule.hyper("beta3_warmup", o.beta3Warmup);
  Term alphaSteps = rule.hyper("alpha_warmup", o.alphaWarmup);
  Term eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.alphaWarmup != 0)
    alpha = where((t < alphaSteps) & (alphaSteps > 0), t / alphaSteps * alpha,
                  alpha);
  if (o.beta3Warmup != 0)
    b3 = warmedUp(b1, b3, t, beta3Steps);
  fast = fast * b1 + (1 - b1) * g;
  slow = slow * b3 + (1 - b3) * g;
  v = v * b2 + (1 - b2) * g * g;
  Term denom = (sqrt(v) / sqrt(1 - pow(b2, t)) + eps).as("denom");
  Term update = (fast / (1 - pow(b1, t)) + alpha * slow) / denom;
  if (o.cautious)
    update = cautious(update, g);
  p -= lr * (o.weightDecay != 0 ? update + decay * p : update);
}

std::vector<Entry> ademamixPrograms() {
  return {optimizer("ademamix", "AdEMAMix: Adam with a second, slower mean",
                    ademamix)};
}

} // namespace heddle::library

//===- Prodigy.cpp - Prodigy ----------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mishchenko and Defazio, "Prodigy: An Expeditiously Adaptive Parameter-Free
// Learner", 2023. The formulas, their order and the defaults are those of the
// package prodigyopt 1.1. Each tensor has a copy of the estimate `d` and of
// what it is computed from; the sums are over all tensors, so the copies of
// tensors that step together agree. Before the first gradient other than 0, and
// with a learning rate of 0, a step changes only decayed state.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct ProdigyOptions : MomentumOptions {
  double lr = 1, beta1 = 0.9, beta2 = 0.999, beta3 = 0, eps = 1e-8;
  double weightDecay = 0, d0 = 1e-6, coefficient = 1;
  double growth = 0;
  bool decoupled = true, corrects = false, safeguards = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "factor of the estimated learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("beta3", beta3, "decay of the sums; 0 is the root of beta2",
             kDecay);
    list.add("eps", eps, "added to the denominator, times the estimate",
             kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("d0", d0, "estimate before the first step", kPositive);
    list.add("d_coef", coefficient, "factor of the estimate", kNotNegative);
    list.add("growth_rate", growth,
             "largest growth of the estimate in a step; 0 is no limit",
             kNotNegative);
    list.add("decouple", decoupled,
             "apply the decay to the parameters, not to the gradients");
    list.add("use_bias_correction", corrects, "correct the bias of both means");
    list.add("safeguard_warmup", safeguards,
             "keep the learning rate out of the sum of gradients");
    MomentumOptions::describe(list);
  }
};
} // namespace

/// The estimate of a step: the highest one so far. With a growth rate, it is at
/// most the product of the rate and the estimate before it.
static Term limited(Rule &rule, const ProdigyOptions &o, const Term &d,
                    const Term &d0, const Term &hat, const Term &highest) {
  if (o.growth == 0)
    return highest;
  Term first = where((d == single(d0)) & (hat > d), hat, d) *
               rule.hyper("growth_rate", o.growth);
  return where(first < highest, first, highest);
}

static void prodigy(Rule &rule, const ProdigyOptions &o) {
  auto p = rule.param(), g = rule.grad(), s = rule.state("s");
  auto p0 = rule.state("p0"), m = rule.state("exp_avg");
  auto v = rule.state("exp_avg_sq"), t = rule.tensorState("step");
  auto d = rule.tensorState("d", o.d0), most = rule.tensorState("d_max", o.d0);
  auto numerator = rule.tensorState("d_numerator");
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term b3 = o.beta3 != 0 ? rule.hyper("beta3", o.beta3) : sqrt(b2);
  Term decay = rule.hyper("weight_decay", o.weightDecay), learns = lr > 0;
  Term d0 = rule.hyper("d0", o.d0), scale = rule.hyper("d_coef", o.coefficient);

  if (o.weightDecay != 0 && !o.decoupled)
    g += decay * p;
  Term rate = (d * lr).as("rate");
  if (o.corrects)
    rate = rate * sqrt(1 - pow(b2, t + 1)) / (1 - pow(b1, t + 1));
  Term weight = (d / d0 * (o.safeguards ? d : rate)).as("weight");
  p0 = where(t == 0, p, p0);
  m = where(learns, m * b1 + d * (1 - b1) * g, m);
  v = where(learns, v * b2 + d * d * (1 - b2) * g * g, v);
  s = where(learns, s * b3 + weight * g, s);
  Term nearer = (d / d0 * rate).as("nearer") * (g * (p0 - p));
  Term change = sum(where(learns, nearer, 0), Over::list).as("change");
  Term length = sum(where(learns, abs(s), 0), Over::list).as("length");
  Term moves = length != 0, total = numerator * b3 + change;
  Term hat = (scale * total / length).as("d_hat");
  Term highest = where(hat > most, hat, most).as("highest");
  Term next = where(moves, limited(rule, o, d, d0, hat, highest), d).as("next");
  // Without momentum, the gradient has the new estimate as its factor.
  Term update = where(b1 != 0, m, next * g).as("direction");
  Term step = rate * ((o.cautious ? cautious(update, g) : update) /
                      (sqrt(v) + next * eps));
  bool decays = o.weightDecay != 0 && o.decoupled;
  p = where(moves, (decays ? p - decay * rate * p : p) - step, p);
  numerator = where(moves, total, numerator);
  most = where(moves, highest, most);
  t = where(moves, t + 1, t);
  d = next;
}

std::vector<Entry> prodigyPrograms() {
  return {optimizer("prodigy", "Prodigy: Adam that estimates its learning rate",
                    prodigy)};
}

} // namespace heddle::library

//===- Lamb.cpp - LAMB ----------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76
// minutes", 2019. The formulas, their order and the defaults are those of
// APEX's FusedLAMB: all gradients are clipped by their norm first, and only
// tensors with a weight decay have a rate of their own.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct LambOptions : MomentumOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-6;
  double weightDecay = 0.01, maxGradNorm = 1;
  bool corrects = true, decoupled = true, averages = true, nvlamb = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "decay of the mean of gradients", kDecay);
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("max_grad_norm", maxGradNorm,
             "largest norm of all gradients; 0 omits the clipping",
             kNotNegative);
    list.add("bias_correction", corrects, "correct the bias of both means");
    list.add("adam_w_mode", decoupled,
             "add the decay to the update, not to the gradients");
    list.add("grad_averaging", averages, "take a mean of gradients, not a sum");
    list.add("use_nvlamb", nvlamb,
             "a rate of its own for tensors without weight decay, too");
    MomentumOptions::describe(list);
  }
};
} // namespace

static void lamb(Rule &rule, const LambOptions &o) {
  auto p = rule.param(), g = rule.grad(), m = rule.state("exp_avg");
  auto v = rule.state("exp_avg_sq"), t = rule.countSteps();
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  Term most = rule.hyper("max_grad_norm", o.maxGradNorm);
  bool decays = o.weightDecay != 0;

  if (o.maxGradNorm != 0) {
    Term slope = norm(g, Over::list).as("slope");
    g /= where((most > 0) & (slope > most), slope / most, 1).as("clip");
  }
  if (decays && !o.decoupled)
    g += decay * p;
  m = m * b1 + (o.averages ? (1 - b1) * g : g);
  v = v * b2 + (1 - b2) * g * g;
  Term mean = o.corrects ? m / (1 - pow(b1, t)) : m;
  Term square = o.corrects ? v / (1 - pow(b2, t)) : v;
  Term update = (mean / (sqrt(square) + eps).as("denom")).as("update");
  if (o.cautious)
    update = cautious(update, g);
  if (decays && o.decoupled)
    update = (update + decay * p).as("decayed");
  Term rate = lr;
  if (decays || o.nvlamb) {
    Term size = norm(p).as("size"), length = norm(update).as("length");
    Term adapts = (size != 0) & (length != 0);
    if (!o.nvlamb)
      adapts = adapts & (decay != 0);
    rate = where(adapts, lr * (size / length), lr).as("rate");
  }
  p -= rate * update;
}

std::vector<Entry> lambPrograms() {
  return {optimizer("lamb", "LAMB: Adam with a rate for each tensor", lamb)};
}

} // namespace heddle::library

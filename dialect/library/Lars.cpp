//===- Lars.cpp - LARS ----------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// You et al., "Large Batch Training of Convolutional Networks", 2017. The rate
// of a tensor is that of the authors' class LARC in APEX; the momentum is that
// of torch's SGD, which LARC wraps. A tensor of zeros, or one whose gradient is
// 0, keeps its gradient.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/HeavyBall.h"
#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct LarsOptions : HeavyBallOptions {
  double trust = 1e-3, eps = 1e-8;
  bool clip = false;

  LarsOptions() {
    lr = 0.1;
    momentum = 0.9;
  }
  void describe(OptionList &list) {
    HeavyBallOptions::describe(list);
    list.add("trust_coefficient", trust,
             "ratio of the norms of a step and of its parameter", kNotNegative);
    list.add("eps", eps, "added to the norm of the gradient", kNotNegative);
    list.add("clip", clip, "never step further than without LARS (LARC)");
  }
};
} // namespace

static void lars(Rule &rule, const LarsOptions &o) {
  auto p = rule.param(), g = rule.grad(), t = rule.step();
  auto buffer = rule.state("momentum_buffer");
  Term lr = rule.hyper("lr", o.lr);
  Term momentum = rule.hyper("momentum", o.momentum);
  Term dampening = rule.hyper("dampening", o.dampening);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  Term trust = rule.hyper("trust_coefficient", o.trust);
  Term eps = rule.hyper("eps", o.eps);

  Term size = norm(p).as("size"), slope = norm(g).as("slope");
  Term decayed = o.weightDecay != 0 ? slope + decay * size : slope;
  Term rate = trust * size / (decayed + eps);
  if (o.clip)
    rate = minimum(rate / lr, 1);
  Term adapts = ((size != 0) & (slope != 0)).as("adapts");
  Term scaled = (o.weightDecay != 0 ? g + decay * p : g) * rate;
  g = where(adapts, scaled, g);
  p -= lr * heavyBall(o, buffer, g, t, momentum, dampening);
}

std::vector<Entry> larsPrograms() {
  return {
      optimizer("lars", "LARS: momentum with a rate for each tensor", lars)};
}

} // namespace heddle::library

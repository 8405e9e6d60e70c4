//===- Rmsprop.cpp - RMSprop ----------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's. No value depends on the number of steps, but torch
// keeps it in the state.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct RmspropOptions : MomentumOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weightDecay = 0, momentum = 0;
  bool centered = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("alpha", alpha, "decay of the mean of squared gradients",
             kNotNegative);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("momentum", momentum, "momentum; 0 omits the momentum buffer",
             kNotNegative);
    list.add("centered", centered, "divide by an estimate of the variance");
    MomentumOptions::describe(list);
  }
  std::string check() const {
    return cautious && momentum == 0
               ? "option 'cautious=true' needs a momentum, found momentum=0"
               : "";
  }
};
} // namespace

static void rmsprop(Rule &rule, const RmspropOptions &o) {
  auto p = rule.param(), g = rule.grad(), v = rule.state("square_avg");
  auto buffer = rule.state("momentum_buffer"), m = rule.state("grad_avg");
  Term lr = rule.hyper("lr", o.lr), alpha = rule.hyper("alpha", o.alpha);
  Term eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  Term momentum = rule.hyper("momentum", o.momentum);
  rule.countSteps();

  if (o.weightDecay != 0)
    g += decay * p;
  v = v * alpha + (1 - alpha) * g * g;
  Term second = v;
  if (o.centered) {
    m += (1 - alpha) * (g - m);
    second = v - m * m;
  }
  Term direction = g / (sqrt(second) + eps).as("denom");
  if (o.momentum != 0)
    direction = buffer = buffer * momentum + direction;
  if (o.cautious)
    direction = cautious(direction, g);
  p -= lr * direction;
}

std::vector<Entry> rmspropPrograms() {
  return {optimizer("rmsprop", "RMSprop, optionally centered and with momentum",
                    rmsprop)};
}

} // namespace heddle::library

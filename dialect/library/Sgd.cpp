//===- Sgd.cpp - stochastic gradient descent ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's, with plain or Nesterov momentum.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/HeavyBall.h"
#include "dialect/library/Programs.h"

namespace heddle::library {

static void sgd(Rule &rule, const HeavyBallOptions &o) {
  auto p = rule.param(), g = rule.grad(), t = rule.step();
  auto buffer = rule.state("momentum_buffer");
  Term lr = rule.hyper("lr", o.lr),
       momentum = rule.hyper("momentum", o.momentum);
  Term dampening = rule.hyper("dampening", o.dampening);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    g += decay * p;
  p -= lr * heavyBall(o, buffer, g, t, momentum, dampening);
}

std::vector<Entry> sgdPrograms() {
  return {optimizer("sgd", "gradient descent, optionally with momentum", sgd)};
}

} // namespace heddle::library

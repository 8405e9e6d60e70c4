//===- Asgd.cpp - averaged stochastic gradient descent --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and their order match torch's loop over tensors. A step uses
// the rate eta and the weight mu that the step before has computed.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct AsgdOptions : OptimizerOptions {
  double lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weightDecay = 0;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("lambd", lambd, "decay of the parameters and of the rate",
             kNotNegative);
    list.add("alpha", alpha, "power of the decay of the rate", kNotNegative);
    list.add("t0", t0, "number of steps before averaging starts");
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    OptimizerOptions::describe(list);
  }
  std::string check() const {
    if (schedule.isGiven())
      return "option 'schedule' does nothing in 'asgd': 'alpha' and 'lambd' "
             "are its schedule";
    return {};
  }
};
} // namespace

static void asgd(Rule &rule, const AsgdOptions &o) {
  auto p = rule.param(), g = rule.grad(), average = rule.state("ax");
  auto eta = rule.tensorState("eta", o.lr), mu = rule.tensorState("mu", 1);
  auto t = rule.step();
  Term lr = rule.hyper("lr", o.lr), lambd = rule.hyper("lambd", o.lambd);
  Term alpha = rule.hyper("alpha", o.alpha), t0 = rule.hyper("t0", o.t0);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    g += decay * p;
  p *= 1 - lambd * eta;
  p -= eta * g;
  average = where(mu != 1, average + (p - average) * mu, p);
  eta = lr / pow(1 + lambd * lr * t, alpha);
  mu = 1 / maximum(t - t0, 1);
}

std::vector<Entry> asgdPrograms() {
  return {optimizer("asgd", "gradient descent with averaged parameters", asgd)};
}

} // namespace heddle::library

//===- Sgd.cpp - stochastic gradient descent ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's, with plain or Nesterov momentum. On the first step
// the momentum buffer becomes the undamped gradient. Without dampening a buffer
// of zeros has this effect, so only dampening needs a step counter.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct SgdOptions : MomentumOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weightDecay = 0;
  bool nesterov = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate");
    list.add("momentum", momentum, "momentum; 0 omits the momentum buffer");
    list.add("dampening", dampening,
             "fraction of a gradient that is not added to the momentum buffer");
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program");
    list.add("nesterov", nesterov, "use Nesterov momentum");
    MomentumOptions::describe(list);
  }
  std::string check() const {
    if (nesterov && (momentum == 0 || dampening != 0))
      return "'nesterov=true' needs 'momentum' and no 'dampening'";
    if (dampening != 0 && momentum == 0)
      return "'dampening' needs 'momentum'";
    if (cautious && momentum == 0)
      return "'cautious=true' needs 'momentum'";
    return {};
  }
};
} // namespace

static void sgd(Rule &rule, const SgdOptions &o) {
  auto p = rule.param(), g = rule.grad(), t = rule.step();
  auto buffer = rule.state("momentum_buffer");
  Term lr = rule.hyper("lr", o.lr),
       momentum = rule.hyper("momentum", o.momentum);
  Term dampening = rule.hyper("dampening", o.dampening);
  Term decay = rule.hyper("weight_decay", o.weightDecay);

  if (o.weightDecay != 0)
    g += decay * p;
  Term direction = g;
  if (o.momentum != 0) {
    Term share = o.dampening != 0 ? where(t == 1, 1, 1 - dampening) : Term();
    buffer = buffer * momentum + (o.dampening != 0 ? share * g : g);
    direction = o.nesterov ? g + momentum * buffer : buffer;
    if (o.cautious)
      direction = cautious(direction, g);
  }
  p -= lr * direction;
}

std::vector<Entry> sgdPrograms() {
  return {optimizer("sgd", "gradient descent, optionally with momentum", sgd)};
}

} // namespace heddle::library

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

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct LarsOptions : MomentumOptions {
  double lr = 0.1, momentum = 0.9, dampening = 0, weightDecay = 0;
  double trust = 1e-3, eps = 1e-8;
  bool nesterov = false, clip = false;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate");
    list.add("momentum", momentum, "momentum; 0 omits the momentum buffer");
    list.add("dampening", dampening,
             "fraction of a gradient that is not added to the momentum buffer");
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program");
    list.add("nesterov", nesterov, "use Nesterov momentum");
    list.add("trust_coefficient", trust,
             "ratio of the norms of a step and of its parameter");
    list.add("eps", eps, "added to the norm of the gradient");
    list.add("clip", clip, "never step further than without LARS (LARC)");
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

std::vector<Entry> larsPrograms() {
  return {
      optimizer("lars", "LARS: momentum with a rate for each tensor", lars)};
}

} // namespace heddle::library

//===- HeavyBall.cpp - the momentum of gradient descent -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/HeavyBall.h"

namespace heddle::library {

void HeavyBallOptions::describe(OptionList &list) {
  list.add("lr", lr, "learning rate", kNotNegative);
  list.add("momentum", momentum, "momentum; 0 omits the momentum buffer",
           kNotNegative);
  list.add("dampening", dampening,
           "fraction of a gradient that is not added to the momentum buffer");
  list.add("weight_decay", weightDecay,
           "weight decay; 0 omits it from the program", kNotNegative);
  list.add("nesterov", nesterov, "use Nesterov momentum");
  MomentumOptions::describe(list);
}

std::string HeavyBallOptions::check() const {
  std::string found = ", found momentum=" + numberText(momentum) +
                      ",dampening=" + numberText(dampening);
  if (nesterov && (momentum == 0 || dampening != 0))
    return "option 'nesterov=true' needs a momentum and no dampening" + found;
  if (dampening != 0 && momentum == 0)
    return "option 'dampening' needs a momentum" + found;
  if (cautious && momentum == 0)
    return "option 'cautious=true' needs a momentum" + found;
  return {};
}

Term heavyBall(const HeavyBallOptions &o, Variable &buffer, const Term &g,
               const Term &t, const Term &momentum, const Term &dampening) {
  if (o.momentum == 0)
    return g;
  Term share = o.dampening != 0 ? where(t == 1, 1, 1 - dampening) : Term();
  buffer = buffer * momentum + (o.dampening != 0 ? share * g : g);
  Term direction = o.nesterov ? g + momentum * buffer : Term(buffer);
  return o.cautious ? cautious(direction, g) : direction;
}

} // namespace heddle::library

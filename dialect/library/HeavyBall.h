//===- HeavyBall.h - the momentum of gradient descent -----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of torch's SGD and its momentum, for optimizers that compute the
// gradient otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_HEAVYBALL_H
#define HEDDLE_DIALECT_LIBRARY_HEAVYBALL_H

#include "dialect/library/Rule.h"

namespace heddle::library {

struct HeavyBallOptions : MomentumOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weightDecay = 0;
  bool nesterov = false;

  void describe(OptionList &list);
  std::string check() const;
};

/// The direction of a step by the gradient `g`, with plain or Nesterov momentum
/// or without. In the first step the buffer becomes the undamped gradient.
/// Without dampening a buffer of zeros has this effect, so only dampening needs
/// the step counter `t`.
Term heavyBall(const HeavyBallOptions &o, Variable &buffer, const Term &g,
               const Term &t, const Term &momentum, const Term &dampening);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_HEAVYBALL_H

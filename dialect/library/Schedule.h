//===- Schedule.h - learning rates that follow the step counter -*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a schedule. The program computes the learning rate of a step
// from the step counter of each tensor, so no host sets it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_SCHEDULE_H
#define HEDDLE_DIALECT_LIBRARY_SCHEDULE_H

#include "dialect/library/Options.h"

namespace heddle::library {

class Term;

/// In step `s`, 0 in the first, the learning rate is `lr` times a factor.
struct Schedule {
  Choice kind{"none",
              {"none", "constant", "linear", "cosine", "step", "exponential",
               "wsd", "one_cycle"}};
  double warmup = 0, start = 0, steps = 0, end = 0, gamma = 0, decay = 0;

  bool isGiven() const { return kind.value != "none"; }
  void describe(OptionList &list);
  /// The error if the options contradict each other, or an empty string.
  std::string check() const;
  /// The factor of the step with the number `t`, 1 for the first.
  Term factor(const Term &t) const;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_SCHEDULE_H

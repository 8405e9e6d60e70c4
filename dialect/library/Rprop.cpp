//===- Rprop.cpp - Rprop --------------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's, whose sign of NaN is 0. The learning rate is the
// initial step size of every element; no step reads it.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct RpropOptions : OptimizerOptions {
  double lr = 1e-2, less = 0.5, more = 1.2, least = 1e-6, most = 50;

  void describe(OptionList &list) {
    list.add("lr", lr, "the step size before the first step", kNotNegative);
    list.add("etaminus", less, "factor of a step size whose gradient turns",
             {0, 1, false, false});
    list.add("etaplus", more, "factor of a step size whose gradient does not",
             {1, Range().most, false});
    list.add("step_size_min", least, "smallest step size");
    list.add("step_size_max", most, "largest step size");
    OptimizerOptions::describe(list);
  }
  std::string check() const {
    if (schedule.isGiven())
      return "option 'schedule' does nothing in 'rprop': its step sizes adapt "
             "by themselves";
    if (least > most)
      return "option 'step_size_min' of 'rprop' expects at most "
             "'step_size_max', " +
             numberText(most) + ", found " + numberText(least);
    return {};
  }
};
} // namespace

static void rprop(Rule &rule, const RpropOptions &o) {
  auto p = rule.param(), g = rule.grad(), before = rule.state("prev");
  auto size = rule.state("step_size", o.lr);
  Term less = rule.hyper("etaminus", o.less);
  Term more = rule.hyper("etaplus", o.more);
  Term least = rule.hyper("step_size_min", o.least);
  Term most = rule.hyper("step_size_max", o.most);
  rule.countSteps();

  Term agreement = g * before, turns = (agreement < 0).as("turns");
  Term factor = where(agreement > 0, more, where(turns, less, 1));
  size = minimum(maximum(size * factor, least), most);
  g = where(turns, 0, g);
  p -= where(g > 0, size, where(g < 0, -size, 0));
  before = g;
}

std::vector<Entry> rpropPrograms() {
  return {
      optimizer("rprop", "Rprop: steps by signs, of sizes that adapt", rprop)};
}

} // namespace heddle::library

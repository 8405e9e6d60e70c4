//===- Schedule.cpp - learning rates that follow the step counter ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The closed forms of torch.optim.lr_scheduler: a linear warm-up, and after it
// the schedule, as SequentialLR runs one after the other. `one_cycle` warms up
// by itself.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Schedule.h"
#include "dialect/library/Rule.h"

#include <cmath>
#include <numbers>

namespace heddle::library {

void Schedule::describe(OptionList &list) {
  list.add("schedule", kind,
           "the learning rate as a function of the step counter; 'none' takes "
           "'lr' as it is");
  list.add("schedule_warmup", warmup,
           "steps of a linear warm-up before the schedule, or of the rise of "
           "'one_cycle'");
  list.add("schedule_start", start,
           "factor of 'lr' in the first step of a warm-up");
  list.add("schedule_steps", steps,
           "steps of 'linear' and 'cosine', of the stable part of 'wsd', "
           "between two changes of 'step', or of the whole 'one_cycle'");
  list.add("schedule_end", end,
           "factor of 'lr' at the end of 'linear', 'cosine', 'wsd' or "
           "'one_cycle'");
  list.add("schedule_gamma", gamma,
           "factor by which 'exponential' changes the rate in each step, and "
           "'step' in every 'schedule_steps'");
  list.add("schedule_decay", decay, "steps of the linear decay of 'wsd'");
}

std::string Schedule::check() const {
  const std::string &name = kind.value;
  auto isOneOf = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::is_contained(names, name);
  };
  struct Rule {
    const char *option;
    double value;
    bool isUsed, isNeeded;
    double least;
    bool isCount = false;
  };
  bool cycles = name == "one_cycle";
  // OneCycleLR rises for a fraction of all steps.
  const Rule rules[] = {
      {"schedule_warmup", warmup, isGiven(), cycles, cycles ? 2.0 : 1.0,
       /*isCount=*/!cycles},
      {"schedule_start", start, isGiven() && warmup != 0, false, 0},
      {"schedule_steps", steps,
       isOneOf({"linear", "cosine", "step", "wsd", "one_cycle"}),
       isOneOf({"linear", "cosine", "step", "wsd", "one_cycle"}),
       cycles ? warmup + 1 : 1.0, true},
      {"schedule_end", end, isOneOf({"linear", "cosine", "wsd", "one_cycle"}),
       false, 0},
      {"schedule_gamma", gamma, isOneOf({"step", "exponential"}),
       isOneOf({"step", "exponential"}), 0},
      {"schedule_decay", decay, name == "wsd", name == "wsd", 1, true}};
  for (const Rule &rule : rules) {
    std::string option = std::string("option '") + rule.option + "'";
    if (rule.value != 0 && !rule.isUsed)
      return option + " does nothing with 'schedule=" + name + "'" +
             (rule.option == llvm::StringRef("schedule_start")
                  ? " without 'schedule_warmup'"
                  : "") +
             ": leave it out";
    if (rule.value == 0 && rule.isNeeded)
      return "option 'schedule=" + name + "' needs '" + rule.option + "'";
    bool fits = !rule.isCount || rule.value == std::floor(rule.value);
    if (rule.value != 0 && !(fits && rule.value >= rule.least))
      return option + " of 'schedule=" + name + "' expects " +
             (rule.isCount ? "a whole number of " : "") +
             numberText(rule.least) + " or more, found " +
             numberText(rule.value);
  }
  return {};
}

/// From 0 to 1, the part of `steps` that has passed.
static Term progress(const Term &passed, double steps) {
  return minimum(maximum(passed / steps, 0), 1);
}

/// cos(pi x) of an `x` from 0 to 1, as a series that is exact to rounding: the
/// cosine of any double would need local memory on a GPU.
static Term cosOfHalfTurns(const Term &x) {
  Term angle = std::numbers::pi * (x - 0.5), square = angle * angle;
  Term series(1);
  for (int k = 11; k >= 1; --k)
    series = 1 - square * series / (2.0 * k * (2 * k + 1));
  return -(angle * series);
}

/// From `from` to `to` as `part` goes from 0 to 1, along half a cosine.
static Term alongCosine(const Term &part, double from, double to) {
  return to + (from - to) / 2 * (1 + cosOfHalfTurns(part));
}

Term Schedule::factor(const Term &t) const {
  const std::string &name = kind.value;
  Term passed = t - 1;
  if (name == "one_cycle") {
    // The rise ends in step 'warmup', and the fall in step 'steps'.
    double top = warmup - 1, last = steps - 1;
    return where(passed <= top, alongCosine(progress(passed, top), start, 1),
                 alongCosine(progress(passed - top, last - top), 1, end));
  }
  Term after = warmup == 0 ? passed : maximum(passed - warmup, 0);
  Term part = steps == 0 ? Term(0) : progress(after, steps);
  Term factor(1);
  if (name == "linear")
    factor = 1 + (end - 1) * part;
  else if (name == "cosine")
    factor = alongCosine(part, 1, end);
  else if (name == "exponential")
    factor = pow(gamma, after);
  else if (name == "step")
    factor = pow(gamma, floor(after / steps));
  else if (name == "wsd")
    factor = 1 + (end - 1) * progress(after - steps, decay);
  if (warmup == 0)
    return factor;
  return where(passed < warmup, start + (1 - start) * (passed / warmup),
               factor);
}

} // namespace heddle::library

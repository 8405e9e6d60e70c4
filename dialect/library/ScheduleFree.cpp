//===- ScheduleFree.cpp - schedule-free AdamW and SGD ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defazio et al., "The Road Less Scheduled", 2024. The formulas, their order
// and the defaults are those of the package schedulefree 1.4, with a step
// counter, the largest rate and the sum of weights for each tensor. The
// parameters are the points of the gradients, between the base sequence `z` and
// its average; `z` starts as the parameter.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

namespace heddle::library {

namespace {
struct ScheduleFreeOptions : OptimizerOptions {
  double lr = 1, weightDecay = 0, warmup = 0, power = 0, lrPower = 2;

  void describe(OptionList &list) {
    list.add("weight_decay", weightDecay,
             "weight decay; 0 omits it from the program", kNotNegative);
    list.add("warmup_steps", warmup,
             "steps in which the learning rate grows; 0 omits the schedule",
             kNotNegative);
    list.add("r", power, "power of the number of steps in the weights");
    list.add("weight_lr_power", lrPower,
             "power of the largest learning rate in the weights");
    OptimizerOptions::describe(list);
  }
  std::string check() const {
    if (schedule.isGiven())
      return "option 'schedule' has no place in a schedule-free optimizer: use "
             "'warmup_steps', or an optimizer with a schedule";
    return OptimizerOptions::check();
  }
};

struct SgdOptions : ScheduleFreeOptions {
  double momentum = 0.9;

  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("momentum", momentum, "share of the average in the parameters",
             {0, 1, false, false});
    ScheduleFreeOptions::describe(list);
  }
};

struct AdamwOptions : ScheduleFreeOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;

  AdamwOptions() { lr = 0.0025; }
  void describe(OptionList &list) {
    list.add("lr", lr, "learning rate", kNotNegative);
    list.add("beta1", beta1, "share of the average in the parameters",
             {0, 1, false, false});
    list.add("beta2", beta2, "decay of the mean of squared gradients", kDecay);
    list.add("eps", eps, "added to the denominator", kNotNegative);
    ScheduleFreeOptions::describe(list);
  }
};
} // namespace

/// Moves the base sequence by the gradient, and the parameter with it. `share`
/// is the part of the parameter that is the average.
static void moveBoth(Rule &rule, const ScheduleFreeOptions &o, Variable &p,
                     const Term &update, const Term &rate, const Term &share) {
  auto z = rule.state("z"), t = rule.step();
  auto most = rule.tensorState("lr_max", -1);
  auto total = rule.tensorState("weight_sum");
  Term warmup = rule.hyper("warmup_steps", o.warmup);

  Term lr = rate;
  if (o.warmup != 0)
    lr = (rate * where(t <= warmup, t / warmup, 1)).as("scheduled_lr");
  most = maximum(lr, most);
  Term weight = o.lrPower != 0 ? pow(most, o.lrPower) : Term(1);
  if (o.power != 0)
    weight = pow(t, o.power) * weight;
  total += weight;
  Term newest = where(total != 0, weight / total, 0).as("newest");
  Term base = where(t == 1, p, z).as("base");
  p += newest * (base - p);
  p += lr * (share * (1 - newest) - 1) * update;
  z = base - lr * update;
}

static void sgd(Rule &rule, const SgdOptions &o) {
  auto p = rule.param(), g = rule.grad();
  Term lr = rule.hyper("lr", o.lr);
  Term momentum = rule.hyper("momentum", o.momentum);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  if (o.weightDecay != 0)
    g += decay * p;
  moveBoth(rule, o, p, g, lr, momentum);
}

static void adamw(Rule &rule, const AdamwOptions &o) {
  auto p = rule.param(), g = rule.grad(), v = rule.state("exp_avg_sq");
  auto t = rule.step();
  Term lr = rule.hyper("lr", o.lr), b1 = rule.hyper("beta1", o.beta1);
  Term b2 = rule.hyper("beta2", o.beta2), eps = rule.hyper("eps", o.eps);
  Term decay = rule.hyper("weight_decay", o.weightDecay);
  v = v * b2 + (1 - b2) * g * g;
  g /= (sqrt(v / (1 - pow(b2, t))) + eps).as("denom");
  if (o.weightDecay != 0)
    g += decay * p;
  moveBoth(rule, o, p, g, lr, b1);
}

std::vector<Entry> scheduleFreePrograms() {
  return {optimizer("adamw_schedule_free",
                    "AdamW with averaging in the place of a schedule", adamw),
          optimizer("sgd_schedule_free",
                    "gradient descent with averaging in the place of a "
                    "schedule",
                    sgd)};
}

} // namespace heddle::library

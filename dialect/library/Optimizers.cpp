//===- Optimizers.cpp - options that all optimizers share -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Optimizers.h"

using namespace mlir;

namespace heddle::library {

void OptimizerOptions::describe(OptionList &list) {
  list.add("maximize", maximize,
           "maximize the objective instead of minimizing it");
  list.add("state", state,
           "element type of the optimizer's state; 'param' is the type of the "
           "parameters");
  list.add("rounding", rounding,
           "rounding of parameters and state to f16 and bf16; 'stochastic' "
           "rounds up or down at random, by the argument 'seed', the step and "
           "the position, so that the mean error is 0");
  list.add("master", master,
           "exact f32 numbers behind parameters of f16 and bf16: 'f32' keeps "
           "them in the list 'master_param'; 'split' keeps the lower halves of "
           "those whose upper halves are bf16 parameters, in 'param_low'");
  list.add("groups", groups,
           "for parameter groups: every hyperparameter has one value for each "
           "member");
  list.add("ema", ema,
           "decay of an exponential moving average of the parameters, in the "
           "list 'ema'; 0 omits it from the program",
           kDecay);
  list.add("zero_grad", zeroGrad, "set gradients to zero after their last use");
  schedule.describe(list);
  ListOptions::describe(list);
}

void MomentumOptions::describe(OptionList &list) {
  list.add("cautious", cautious,
           "step only where the momentum agrees with the gradient, and "
           "further there");
  OptimizerOptions::describe(list);
}

static bool isShort(StringRef dtype) {
  return dtype == "f16" || dtype == "bf16";
}

std::string OptimizerOptions::checkTypes() const {
  std::string found = ", found dtype=" + dtype.value;
  if (master.value == "split" && (!hasType("bf16") || hasType("f16")))
    return "option 'master=split' keeps f32 numbers as bf16 parameters and the "
           "rest: expected dtype bf16, alone or with f32 and f64" +
           found;
  if (master.value == "f32" && !hasType("f16") && !hasType("bf16"))
    return "option 'master=f32' keeps f32 numbers behind parameters of 16 "
           "bits: expected dtype bf16 or f16, alone or with others" +
           found;
  bool hasShort = llvm::any_of(families(), [&](const FamilyName &family) {
    const std::string &type = family.dtype;
    return isShort(state.value == "param" ? type : state.value) ||
           (isShort(type) && master.value == "none");
  });
  if (rounding.value == "stochastic" && !hasShort)
    return "option 'rounding=stochastic' needs parameters or state that is "
           "rounded to 16 bits: expected dtype (without 'master') or state "
           "bf16 or f16" +
           found + ",state=" + state.value + ",master=" + master.value;
  return {};
}

std::string OptimizerOptions::checkTail() const { return schedule.check(); }

Type OptimizerOptions::stateOf(const Family &family) const {
  return state.value == "param"
             ? family.storage
             : typeNamed(state.value, family.storage.getContext());
}

static bool isShort(Type type) { return type.isF16() || type.isBF16(); }

bool OptimizerOptions::hasMaster(const Family &family) const {
  return master.value == "f32" && isShort(family.storage);
}

bool OptimizerOptions::splits(const Family &family) const {
  return master.value == "split" && family.storage.isBF16();
}

bool OptimizerOptions::isRoundedAtRandom(Type stored) const {
  return rounding.value == "stochastic" && isShort(stored);
}

} // namespace heddle::library

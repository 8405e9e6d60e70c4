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
  list.add("groups", groups,
           "for parameter groups: every hyperparameter has one value for each "
           "member");
  ListOptions::describe(list);
}

void MomentumOptions::describe(OptionList &list) {
  list.add("cautious", cautious,
           "step only where the momentum agrees with the gradient, and "
           "further there");
  OptimizerOptions::describe(list);
}

Type OptimizerOptions::stateOf(const Family &family) const {
  return state.value == "param"
             ? family.storage
             : typeNamed(state.value, family.storage.getContext());
}

} // namespace heddle::library

//===- Optimizers.cpp - what optimizers have in common --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that every optimizer has.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Optimizers.h"

using namespace mlir;

namespace heddle::library {

void OptimizerOptions::describe(OptionList &list) {
  list.add("maximize", maximize, "go up the gradient, not down");
  list.add("state", state,
           "element type of the optimizer's state; 'param' is that of the "
           "parameters");
  list.add("groups", groups,
           "one value of every hyperparameter for each member, for parameter "
           "groups");
  ListOptions::describe(list);
}

Type OptimizerOptions::stateOf(const Family &family) const {
  return state.value == "param"
             ? family.storage
             : typeNamed(state.value, family.storage.getContext());
}

} // namespace heddle::library

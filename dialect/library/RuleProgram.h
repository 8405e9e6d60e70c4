//===- RuleProgram.h - the program of a rule --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the program of a rule: for each family of element types its lists,
// then the hyperparameters; maps over hyperparameters, over tensors and over
// elements, and reductions, stage by stage.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_RULEPROGRAM_H
#define HEDDLE_DIALECT_LIBRARY_RULEPROGRAM_H

#include "dialect/library/Rule.h"

namespace heddle::library {

void buildRule(ProgramBuilder &program, const OptimizerOptions &options,
               llvm::function_ref<void(Rule &)> formula);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_RULEPROGRAM_H

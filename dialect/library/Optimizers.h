//===- Optimizers.h - options that all optimizers share ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of every optimizer, and hyperparameters. A hyperparameter has one
// value for all members or, for parameter groups, one for each member.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_OPTIMIZERS_H
#define HEDDLE_DIALECT_LIBRARY_OPTIMIZERS_H

#include "dialect/library/Options.h"
#include "dialect/library/ProgramBuilder.h"
#include "dialect/library/Schedule.h"

namespace heddle::library {

/// The options that every optimizer has.
struct OptimizerOptions : ListOptions {
  Choice state{"param", {"param", "f64", "f32", "f16", "bf16"}};
  Choice rounding{"nearest", {"nearest", "stochastic"}};
  Choice master{"none", {"none", "f32", "split"}};
  bool groups = false;
  bool maximize = false;
  Schedule schedule;
  /// The decay of the average of the parameters; 0: there is none.
  double ema = 0;
  bool zeroGrad = false;

  void describe(OptionList &list);
  std::string check() const { return {}; }
  /// The error if the options of element types contradict each other.
  std::string checkTypes() const;
  /// The error if the options around the update contradict each other.
  std::string checkTail() const;
  /// The element type of the optimizer's state for a family.
  mlir::Type stateOf(const Family &family) const;
  /// Whether a list has parameters of a family in f32, or their lower halves.
  bool hasMaster(const Family &family) const;
  bool splits(const Family &family) const;
  /// Whether elements of this type are rounded at random.
  bool isRoundedAtRandom(mlir::Type stored) const;
};

/// The options of optimizers with momentum.
struct MomentumOptions : OptimizerOptions {
  bool cautious = false;

  void describe(OptionList &list);
};

/// Declares hyperparameters: a device scalar for all members and families, or,
/// with groups, one value for each member of each family. `suffix` ends their
/// names.
class Hyperparameters {
public:
  Hyperparameters(ProgramBuilder &program, bool groups, llvm::StringRef suffix)
      : program(program), groups(groups), suffix(suffix) {}

  mlir::Value declare(llvm::StringRef name, double value) {
    std::string full = (name + suffix).str();
    if (!groups)
      return program.scalar(full, value);
    return program.list(full, 0, program.f64(), value);
  }

private:
  ProgramBuilder &program;
  bool groups;
  llvm::StringRef suffix;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_OPTIMIZERS_H

//===- Programs.h - the standard programs and their options -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One options struct and one function for each; Library.cpp lists them under
// the names that users write.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_PROGRAMS_H
#define HEDDLE_DIALECT_LIBRARY_PROGRAMS_H

#include "dialect/library/Optimizers.h"

namespace heddle::library {

struct SgdOptions : OptimizerOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weightDecay = 0;
  bool nesterov = false;

  void describe(OptionList &list);
  /// An explanation of what contradicts itself, or an empty string.
  std::string check() const;
};

struct AdamOptions : OptimizerOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weightDecay = 0;
  bool amsgrad = false;
  bool decoupled = false;

  void describe(OptionList &list);
  std::string check() const { return {}; }
};

struct NormOptions : ListOptions {
  std::string check() const { return {}; }
};

struct ClipOptions : ListOptions {
  double maxNorm = 1.0;

  void describe(OptionList &list);
  std::string check() const { return {}; }
};

void buildSgd(ProgramBuilder &program, const SgdOptions &options);
void buildAdam(ProgramBuilder &program, const AdamOptions &options);
void buildGlobalNorm(ProgramBuilder &program, const NormOptions &options);
void buildClipByGlobalNorm(ProgramBuilder &program, const ClipOptions &options);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_PROGRAMS_H

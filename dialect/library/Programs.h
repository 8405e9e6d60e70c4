//===- Programs.h - the standard programs and their options -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One options struct and one function for each program. Library.cpp lists the
// programs by name.
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
  /// The error if options contradict each other, or an empty string.
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

struct SinkhornOptions {
  double eps = 0.05;
  double rhoA = 0, rhoB = 0;
  double omega = 1;
  Choice anneal{"none", {"none", "geometric", "list"}};
  double eps0 = 1;
  double decay = 0.5;
  double tol = 1e-4;
  int64_t limit = 1000;
  Choice matrix{"cost", {"cost", "log_kernel"}};
  Choice layout{"row", {"row", "column"}};
  Choice weights{"plain", {"plain", "log"}};
  bool normalize = false;
  Choice regularizer{"kl", {"kl", "entropy"}};
  Choice order{"u", {"u", "v"}};
  Choice norm{"l1", {"l1", "l2", "max"}};
  Choice convention{"scaling", {"scaling", "ott", "geomloss"}};
  Choice init{"zero", {"zero", "given"}};
  bool iterate = true;
  Choices outputs{"potentials",
                  {"potentials", "plan", "cost", "dual", "marginals",
                   "transforms", "argmax", "product", "projection", "history"}};
  int64_t points = 0;
  bool groups = false;
  Choice dtype{"f32", {"f64", "f32", "f16", "bf16"}};
  Choice compute{"matrix", {"matrix", "f64", "f32"}};

  void describe(OptionList &list);
  std::string check() const;
  bool anneals() const { return anneal.value != "none"; }
  /// Whether the matrix is the cost, and not the log kernel.
  bool givesCost() const { return matrix.value == "cost"; }
  bool hasOutput(llvm::StringRef output) const {
    return llvm::is_contained(outputs.parts(), output);
  }
};

void buildSgd(ProgramBuilder &program, const SgdOptions &options);
void buildAdam(ProgramBuilder &program, const AdamOptions &options);
void buildGlobalNorm(ProgramBuilder &program, const NormOptions &options);
void buildClipByGlobalNorm(ProgramBuilder &program, const ClipOptions &options);
void buildSinkhorn(ProgramBuilder &program, const SinkhornOptions &options);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_PROGRAMS_H

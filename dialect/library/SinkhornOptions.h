//===- SinkhornOptions.h - the options of `sinkhorn` ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_SINKHORNOPTIONS_H
#define HEDDLE_DIALECT_LIBRARY_SINKHORNOPTIONS_H

#include "dialect/library/Options.h"
#include "llvm/ADT/STLExtras.h"

namespace heddle::library {

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

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_SINKHORNOPTIONS_H

//===- RunCheck.h - check against the reference interpreter -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exact evaluation is in double precision; the plain evaluation computes
// each operation in its own type. The error of a result against the exact
// evaluation must be comparable to the error of the plain evaluation.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNCHECK_H
#define HEDDLE_TOOLS_HEDDLE_RUNCHECK_H

#include "RunSession.h"

namespace heddle::cli {

/// The errors of one result.
struct ResultCheck {
  std::string name;
  int64_t elements = 0;
  double largestError = 0; ///< of heddle's result, as rmsError
  double rmsError = 0;
  double plainRmsError = 0;
  /// The unit of the printed errors: the RMS error of the plain evaluation, but
  /// at least the effect of a few results that round the other way and, if the
  /// program loops, of one unit in the last place of each operation.
  double unit = 0;
  /// Elements that differ from those of the plain evaluation.
  int64_t different = 0;
  int64_t notNumbers = 0;

  double largest() const { return inUnits(largestError); }
  double ratio() const { return inUnits(rmsError); }
  /// Limit of ratio().
  double bound = kBound;
  bool holds() const { return ratio() <= bound; }

  static constexpr double kBound = 1.5;
  /// Limits for loops with the panel schedule. They use the hardware's base-2
  /// exponential and sum about shifts, which costs a few units in the last
  /// place per iteration. The limit is lower if the unit of all results
  /// includes such perturbations.
  static constexpr double kBoundOfPanels = 16, kBoundOfPerturbed = 8;
  /// A result of few elements has a noisy error estimate: if perturbations
  /// change n elements, the limit rises by kSpread / sqrt(n).
  static constexpr double kSpread = 3;

private:
  double inUnits(double error) const;
};

/// Runs `steps` steps in the interpreter and compares the results with those of
/// the session, which must have run as many steps.
llvm::Expected<std::vector<ResultCheck>>
checkResults(RunSession &session, const std::string &program, int64_t steps,
             Progress &progress);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_RUNCHECK_H

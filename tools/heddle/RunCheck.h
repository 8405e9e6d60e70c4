//===- RunCheck.h - check against the reference interpreter -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exact evaluation is in double precision; the plain evaluation computes
// each operation in its own type. A result may differ from the exact evaluation
// about as much as the plain evaluation does.
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
  double largestError = 0, rmsError = 0; ///< of heddle's result
  double plainRmsError = 0;              ///< of the plain evaluation
  /// The unit of the printed errors: the largest of the RMS errors of the plain
  /// evaluation, of a few elements that are off by one unit in the last place,
  /// and, if the program has a loop, of the perturbed evaluations.
  double unit = 0;
  /// Elements that differ from those of the plain evaluation.
  int64_t different = 0;
  int64_t notNumbers = 0;

  double largest() const { return inUnits(largestError); }
  double ratio() const { return inUnits(rmsError); }
  /// Bound of ratio().
  double bound = kBound;
  bool holds() const { return ratio() <= bound; }

  static constexpr double kBound = 1.5;
  /// The bound of a panel loop, which is larger because such a loop uses the
  /// hardware's base-2 exponential and sums about shifts. This costs a few
  /// units in the last place per iteration.
  static constexpr double kPanelBound = 16;
  /// The bound of a panel loop if no perturbation changes an iteration count or
  /// a flag, so that the perturbed evaluations count for every member.
  static constexpr double kAgreeingPanelBound = 8;
  /// A result of few elements has a noisy error estimate: if perturbations
  /// change n elements, the bound rises by kSpread / sqrt(n).
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

//===- RunCheck.h - results against the reference interpreter ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every result is compared with an evaluation of the program in double
// precision, and its error with that of a plain evaluation that computes every
// operation in its own type.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNCHECK_H
#define HEDDLE_TOOLS_HEDDLE_RUNCHECK_H

#include "RunSession.h"

namespace heddle::cli {

/// Errors of one result.
struct ResultCheck {
  std::string name;
  int64_t elements = 0;
  double largestError = 0; ///< of heddle's result
  double rmsError = 0;
  double plainRmsError = 0;
  /// What errors are measured in: the plain evaluation's RMS error, but not
  /// less than what a few results rounded the other way would make of it, nor,
  /// where the program loops, than what a unit in the last place of operations
  /// makes of it.
  double unit = 0;
  /// Elements that differ from the plain evaluation's.
  int64_t different = 0;
  int64_t notNumbers = 0;

  double largest() const { return inUnits(largestError); }
  double ratio() const { return inUnits(rmsError); }
  /// How many units the RMS error may be.
  double bound = kBound;
  bool holds() const { return ratio() <= bound; }

  static constexpr double kBound = 1.5;
  /// Of loops in panels, which take exponentials with the hardware's
  /// instruction, in base 2, and sum them about guesses: a few units in the
  /// last place in every trip. Fewer where the unit is what such units make.
  static constexpr double kBoundOfPanels = 16, kBoundOfPerturbed = 8;
  /// More where a loop's operations move few elements: over the root of their
  /// number, which may err together, and more than the draws of the unit do.
  static constexpr double kSpread = 3;

private:
  double inUnits(double error) const;
};

/// Runs `steps` steps in the interpreter and compares. The session's graph has
/// run as many.
llvm::Expected<std::vector<ResultCheck>>
checkResults(RunSession &session, const std::string &program, int64_t steps,
             Progress &progress);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_RUNCHECK_H

//===- RunCheck.h - check against the reference interpreter -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference interpreter computes each element in double precision, together
// with its range: the values of all evaluations whose operations are within
// their documented accuracy. A result outside of its range is wrong.
//
// In a long loop, ranges become wide, because they assume the worst of every
// iteration. There, a result must also be as close to the exact one as the
// results of perturbed evaluations, in which every operation is off by one or
// more units in the last place.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNCHECK_H
#define HEDDLE_TOOLS_HEDDLE_RUNCHECK_H

#include "RunSession.h"

#include <limits>

namespace heddle::cli {

/// One element of a result, and the values that it may have.
struct CheckedElement {
  size_t member = 0;
  int64_t position = 0;
  double found = 0, exact = 0, low = 0, high = 0;
};

/// The comparison of one result.
struct ResultCheck {
  std::string name;
  int64_t elements = 0;
  /// Sums of squares over the finite elements; the relative error of one unit
  /// in the last place, or 0 for integers.
  double errorSquares = 0, valueSquares = 0, unit = 0;
  /// The largest share of a range: the distance of an element from its exact
  /// value over the distance of the end of its range. Above 1, the element is
  /// outside.
  double largestShare = 0;
  int64_t outside = 0;
  /// The first element outside.
  CheckedElement wrong;
  /// Elements that may be anything, and those that are NaN as expected.
  int64_t unknown = 0, notNumbers = 0;
  /// Whether the elements belong to vectors or matrices. (The scalars of all
  /// members are often one number: a step counter, a flag.)
  bool isOfTensors = false;
  /// Whether the program sets all elements to a constant.
  bool isFill = false;
  /// The first element that is a number, and whether the exact value of another
  /// one differs.
  double firstExact = std::numeric_limits<double>::quiet_NaN();
  bool varies = false;

  /// The RMS error, in units in the last place of the RMS value (of integers,
  /// itself).
  double rmsError() const;
  /// The number of elements that could have been found wrong.
  int64_t checked() const { return elements - unknown - notNumbers; }
  /// Whether vectors or matrices have one number throughout. Most errors, such
  /// as a wrong index, do not change it. NaN is no number.
  bool isConstant() const {
    return isOfTensors && elements - notNumbers > 1 && !varies;
  }
  /// Whether the comparison says anything: the result is not constant, unless
  /// the program says so, and at least a tenth of the elements could have been
  /// found wrong.
  bool isChecked() const {
    return isEmpty() ||
           ((isFill || !isConstant()) && checked() * 10 >= elements);
  }
  /// Whether the result has no element that could be compared. Other results
  /// may have some.
  bool isEmpty() const { return elements == 0; }
  bool holds(bool allowUnchecked = false) const {
    return outside == 0 && (isChecked() || allowUnchecked);
  }
};

/// Whether a check with these results compares nothing: all vectors and
/// matrices are empty, or all results if the program returns no vectors and
/// matrices.
bool compareNothing(llvm::ArrayRef<ResultCheck> checks);

/// Runs `steps` steps in the interpreter and compares the results with those of
/// the session, which must have run as many steps.
llvm::Expected<std::vector<ResultCheck>>
checkResults(RunSession &session, const std::string &program, int64_t steps,
             Progress &progress);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_RUNCHECK_H

//===- RangeReduction.h - ranges of combined values -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range of a reduction holds its value for every choice of the values from
// their ranges, and for every order of the operations that a schedule may have.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_RANGEREDUCTION_H
#define HEDDLE_DIALECT_REFERENCE_RANGEREDUCTION_H

#include "dialect/reference/Ranges.h"
#include "dialect/reference/Reduction.h"

namespace heddle::reference {

class RangeReduction {
public:
  RangeReduction(foreach::ReduceKind kind, mlir::Type type);

  void clear();
  void add(const double *low, const double *high, int64_t count);
  void skip(int64_t count) { seen += count; }

  /// The range of the value; `exact` is its value in exact arithmetic. A value
  /// passes through at most `depth` operations.
  Range value(double exact, int64_t depth) const;
  /// The range of the position of the extreme value.
  Range position() const;
  int64_t count() const { return values; }

private:
  Range ofSum(double relative) const;
  Range ofProduct() const;
  Range ofExponentials(double relative) const;
  void addFactor(Range factor);
  void addCandidate(Range candidate);

  foreach
    ::ReduceKind kind;
  mlir::Type type;
  bool isFloat;
  /// The reduction of the lower ends, and of the upper ends.
  Reduction lower, upper;
  int64_t values = 0, seen = 0;
  bool allExact = true, anyNaN = false, anyAnything = false;
  /// Whether a range that is not exact has an infinite end.
  bool mayOverflow = false;
  /// The sum of the magnitudes of finite values.
  double sumOfMagnitudes = 0;
  /// The product of the values, of the magnitudes above 1, and of those below.
  Range product = {1, 1};
  double productAbove1 = 1, productBelow1 = 1;
  /// Values that may be the extreme one, and the largest lower end.
  struct Candidate {
    int64_t position;
    double high;
  };
  std::vector<Candidate> candidates;
  double best = -std::numeric_limits<double>::infinity();
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_RANGEREDUCTION_H

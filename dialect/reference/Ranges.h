//===- Ranges.h - the values of all faithful evaluations --------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A faithful evaluation runs the operations of a program in its types, each
// within its documented accuracy, and takes sums in any order that the
// schedules allow. The range of an element holds its value in every such
// evaluation, and its exact value.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_RANGES_H
#define HEDDLE_DIALECT_REFERENCE_RANGES_H

#include "mlir/IR/Types.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle::reference {

/// The values from `low` to `high`. NaN at both ends is NaN alone; -inf to +inf
/// also includes NaN: the value may be anything.
struct Range {
  double low, high;

  static Range exactly(double value) { return {value, value}; }
  static Range anything() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return {-infinity, infinity};
  }
  bool isAnything() const {
    return std::isinf(low) && std::isinf(high) && low < high;
  }
  bool isExact() const {
    return low == high || (std::isnan(low) && std::isnan(high));
  }
  bool contains(double value) const {
    return std::isnan(value) ? std::isnan(low) || isAnything()
                             : low <= value && value <= high;
  }
};

/// The smallest range that holds both.
inline Range hull(Range a, Range b) {
  bool notNumbers = std::isnan(a.low) && std::isnan(b.low);
  if (notNumbers)
    return a;
  if (std::isnan(a.low) || std::isnan(b.low))
    return Range::anything();
  return {std::fmin(a.low, b.low), std::fmax(a.high, b.high)};
}

/// Every value of `type`: anything for floats, all integers of the width.
Range everyValue(mlir::Type type);

/// Half a unit in the last place of 1 in `type`: the relative error of one
/// rounding.
double unitRoundoff(mlir::Type type);

/// Widens ranges by `ulps` units in the last place and rounds the ends to
/// elements of `type`: outward for f32, to nearest for 16-bit floats. Outward
/// rounding alone allows for the first unit. An exact value (`values`) that
/// overflows f32 becomes an infinity.
void widen(mlir::Type type, double ulps, double *values, double *low,
           double *high, int64_t count);

/// The same for one range.
Range widen(mlir::Type type, double ulps, Range range);

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_RANGES_H

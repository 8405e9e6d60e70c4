//===- Exponents.h - arguments of exponentials as sums of terms -*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits the argument of an exponential into element, row and column terms. If
// two arguments x and y have equal element terms, then
// exp(y) = exp(x) * exp(row terms) * exp(column terms), so one exponential per
// element serves both.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_EXPONENTS_H
#define HEDDLE_DIALECT_EXPONENTS_H

#include "dialect/FusedLevels.h"

namespace heddle::fused {

/// A member or list value by which a term is multiplied or divided.
struct Factor {
  mlir::Value value;
  bool reciprocal;
  bool operator==(const Factor &) const = default;
};

/// `scale * value * factors`.
struct Term {
  mlir::Value value;
  llvm::SmallVector<Factor> factors;
  /// The product of the sign and all constant factors.
  double scale;
};

struct Exponent {
  /// Element values that cannot be split further.
  llvm::SmallVector<Term> element;
  /// Row, member and list values.
  llvm::SmallVector<Term> row;
  llvm::SmallVector<Term> column;
};

/// Splits `x` into terms: through sums and differences, and through products
/// and quotients with member and list values. Fails if `x` is not a
/// floating-point value, is complete only after the sweep, or has too many
/// terms.
mlir::FailureOr<Exponent> decompose(mlir::Value x, const Levels &levels);

/// Whether the element terms are equal, in any order.
bool sameElementTerms(const Exponent &a, const Exponent &b);

/// Whether `x` depends on `result` without a reduction in between.
bool dependsOn(mlir::Value x, mlir::Value result);

/// The constant s such that, for every finite `result`, `x` is s * result + c
/// with a c that does not depend on `result` (c may be infinite or NaN).
/// Returns nothing if no such constant is found.
std::optional<double> slopeIn(mlir::Value x, mlir::Value result);

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_EXPONENTS_H

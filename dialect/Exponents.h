//===- Exponents.h - what the argument of an exponential is ----*- C++ -*-===//
//
// Arguments as sums: terms of elements, of rows and of columns. Where two have
// the same terms of elements, exp(y) = exp(x) * exp(rows) * exp(columns), so
// one exponential per element serves both.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_EXPONENTS_H
#define HEDDLE_DIALECT_EXPONENTS_H

#include "dialect/FusedLevels.h"

namespace heddle::fused {

/// A member's or the list's scalar that a term is multiplied, or divided, by.
struct Factor {
  mlir::Value value;
  bool reciprocal;
  bool operator==(const Factor &) const = default;
};

/// `scale * value * factors`.
struct Term {
  mlir::Value value;
  llvm::SmallVector<Factor> factors;
  /// The sign and the constants among the factors.
  double scale;
};

struct Exponent {
  /// Values of elements that are not taken apart further.
  llvm::SmallVector<Term> element;
  /// Values of rows, of members and of the list.
  llvm::SmallVector<Term> row;
  llvm::SmallVector<Term> column;
};

/// Takes `x` apart through sums and differences, and products with and
/// quotients by scalars of members and the list. Fails where `x` is no number
/// or complete only after the sweep.
mlir::FailureOr<Exponent> decompose(mlir::Value x, const Levels &levels);

/// Whether the terms of elements are the same, in whatever order.
bool sameElementTerms(const Exponent &a, const Exponent &b);

/// Whether `x` is computed from `result`, other than by a reduction.
bool dependsOn(mlir::Value x, mlir::Value result);

/// The constant s for which `x` is s * result + (what does not depend on it,
/// and may be infinite or NaN) wherever `result` is finite; nothing where there
/// is none, or none is found.
std::optional<double> slopeIn(mlir::Value x, mlir::Value result);

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_EXPONENTS_H

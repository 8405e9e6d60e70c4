//===- Interpreter.h - the reference interpreter ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates foreach IR as written, before any pass. Every other way to run a
// program is compared with the interpreter. It implements the semantics of the
// foreach dialect and does not depend on passes, kernels or targets.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_INTERPRETER_H
#define HEDDLE_DIALECT_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <vector>

namespace heddle::reference {

/// One member of a list, or a device scalar (without extents). Its elements are
/// in row-major order and are stored as doubles, whatever their type (integers
/// are exact up to 2^53). In a list of matrices all leading extents collapse
/// into rows; in a list of vectors all extents collapse into one.
struct Tensor {
  std::vector<int64_t> extents;
  std::vector<double> data;
  /// The ends of the range of each element (Ranges.h); none if all elements are
  /// exact.
  std::vector<double> low = {}, high = {};

  bool hasRanges() const { return !low.empty(); }
  const std::vector<double> &lows() const { return hasRanges() ? low : data; }
  const std::vector<double> &highs() const { return hasRanges() ? high : data; }

  int64_t size() const { return static_cast<int64_t>(data.size()); }
};

/// A list, or a device scalar, which has one member.
struct Value {
  std::vector<Tensor> members;

  static Value scalar(double number) { return {{Tensor{{}, {number}}}}; }
};

enum class Arithmetic {
  /// Double throughout; values are rounded only where a list or a device scalar
  /// of a narrower type stores them.
  exact,
  /// The same, with the range of every element.
  bounded,
  /// A plain evaluation: every operation on f32 is rounded to f32. Sums are
  /// taken pairwise.
  plain,
  /// The same, but the result of every operation that is not exact is
  /// `amplitude` units in the last place too large or too small. Such results
  /// show how far faithful evaluations may differ, also after many iterations.
  perturbed,
};

inline bool isExact(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::exact || arithmetic == Arithmetic::bounded;
}

struct InterpretOptions {
  Arithmetic arithmetic = Arithmetic::exact;
  /// For each argument, the flags of its inactive members, such as missing
  /// gradients; a member without a flag is active. A member that is inactive in
  /// one list is inactive in its whole family. It is skipped: results that
  /// replace an argument keep its elements, other results are zero.
  std::vector<std::vector<bool>> inactive;
  /// The seed of the perturbations, and their size in units in the last
  /// place.
  uint64_t seed = 0;
  double amplitude = 1;
};

/// Evaluates `function` on `arguments`, which are rounded to their types as if
/// stored. Emits an error if the arguments do not match.
mlir::FailureOr<std::vector<Value>>
interpret(mlir::func::FuncOp function, std::vector<Value> arguments,
          const InterpretOptions &options = {});

/// The direction of a perturbation, up (1) or down (-1). It follows from the
/// bits of the value and of the seed. So it is the same in every run, and equal
/// values have equal errors, as with rounding.
int signOf(double value, uint64_t seed);

/// `value` as an element of `type`: rounded to the nearest (ties to even), or
/// wrapped.
double roundTo(mlir::Type type, double value);

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_INTERPRETER_H

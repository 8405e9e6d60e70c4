//===- Interpreter.h - the reference interpreter ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates foreach IR as it was written, before any pass: what every other way
// to run a program is compared with. It knows the semantics of the foreach
// dialect and nothing of kernels, fusion or targets.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_INTERPRETER_H
#define HEDDLE_DIALECT_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <vector>

namespace heddle::reference {

/// One member of a list, or a device scalar (without extents). Its elements are
/// in row-major order; whatever their type is, they are held as doubles
/// (integers are exact up to 2^53). Extents beyond the list's rank collapse:
/// leading ones into the rows of a matrix, all into the length of a vector.
struct Tensor {
  std::vector<int64_t> extents;
  std::vector<double> data;

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
  /// Every operation on f32 is rounded to f32, as a plain evaluation of the
  /// program would do it (sums are taken pairwise).
  asWritten,
  /// The same, with sums, products, quotients and functions of elements a unit
  /// in the last place off, up or down: how far apart two faithful evaluations
  /// may be, also where what they differ in cancels.
  perturbed,
};

struct InterpretOptions {
  Arithmetic arithmetic = Arithmetic::exact;
  /// For each argument, flags of its members that are inactive (a gradient that
  /// is none); missing arguments and members are active. What is inactive in
  /// one list is so in every list that meets it in an operation: it is skipped,
  /// results that replace an argument keep its elements, others are zero.
  std::vector<std::vector<bool>> inactive;
  /// Which way perturbed results go: each number is another draw.
  uint64_t draw = 0;
};

/// Evaluates `function` on `arguments`, which are rounded to their types as if
/// they had been stored. Emits an error where they do not fit together.
mlir::FailureOr<std::vector<Value>>
interpret(mlir::func::FuncOp function, std::vector<Value> arguments,
          const InterpretOptions &options = {});

/// `value` as an element of `type` stores it: rounded to the nearest (ties to
/// even), or wrapped.
double roundTo(mlir::Type type, double value);

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_INTERPRETER_H

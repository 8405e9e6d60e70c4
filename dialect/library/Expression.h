//===- Expression.h - scalar formulas as operations -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thin wrapper around the values of a body, so that an update rule in C++
// reads like its formula: `denom = (sqrt(v) / root + eps).as("denom")`.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_EXPRESSION_H
#define HEDDLE_DIALECT_LIBRARY_EXPRESSION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace heddle::library {

/// A float, integer or flag of a body under construction. Operators append
/// operations to the body; both operands have the same type.
class Scalar {
public:
  Scalar() = default;
  Scalar(mlir::OpBuilder &builder, mlir::Value value)
      : builder(&builder), value(value) {}

  mlir::Value getValue() const { return value; }
  mlir::Type getType() const { return value.getType(); }
  mlir::OpBuilder &getBuilder() const { return *builder; }
  explicit operator bool() const { return static_cast<bool>(value); }

  /// Names the value; every value of a standard program has a name.
  Scalar as(llvm::StringRef name) const;

  /// A constant of this value's type, in the same body.
  Scalar constant(double number, llvm::StringRef name) const;

private:
  mlir::OpBuilder *builder = nullptr;
  mlir::Value value;
};

/// For floats; the sum also for integers.
Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);

Scalar sqrt(Scalar a);
/// 1 / sqrt(a).
Scalar rsqrt(Scalar a);
Scalar exp(Scalar a);
/// exp(a) - 1, exact also for a small `a`.
Scalar expm1(Scalar a);
Scalar log(Scalar a);
/// log(1 + a), exact also for a small `a`.
Scalar log1p(Scalar a);
Scalar tanh(Scalar a);
Scalar abs(Scalar a);
/// -1, 0 or 1; NaN of NaN.
Scalar sign(Scalar a);
Scalar floor(Scalar a);
Scalar ceil(Scalar a);
/// The larger or smaller operand; NaN if either is NaN.
Scalar maximum(Scalar a, Scalar b);
Scalar minimum(Scalar a, Scalar b);
Scalar copysign(Scalar a, Scalar b);
/// `base` to the power `exponent`, both floats.
Scalar pow(Scalar base, Scalar exponent);
/// `base` to the integer power `exponent`.
Scalar power(Scalar base, Scalar exponent);
/// A float that holds a whole number, as an i32.
Scalar toInteger(Scalar a);
/// A float, rounded to f32 if its type is wider. Its type is the same.
Scalar single(Scalar a);
/// A float, as the wider type `type`.
Scalar widen(Scalar a, mlir::Type type);
/// For floats and integers.
Scalar equal(Scalar a, Scalar b);
/// True if either is NaN.
Scalar unequal(Scalar a, Scalar b);
/// False if either is NaN.
Scalar less(Scalar a, Scalar b);
Scalar atMost(Scalar a, Scalar b);
Scalar isNaN(Scalar a);
Scalar isFinite(Scalar a);
/// The number of the iteration of the enclosing loop, in the body of `like`.
Scalar iteration(Scalar like);
/// An i32 constant in the body of `like`.
Scalar integer(Scalar like, int32_t number, llvm::StringRef name);
Scalar operator!(Scalar flag);
/// For flags, or for the bits of integers.
Scalar operator&(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);
Scalar select(Scalar flag, Scalar yes, Scalar no);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_EXPRESSION_H

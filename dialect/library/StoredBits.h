//===- StoredBits.h - floats in lists of 16 bits ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas over the bits of f32: halves in two lists, and rounding at random.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_STOREDBITS_H
#define HEDDLE_DIALECT_LIBRARY_STOREDBITS_H

#include "dialect/library/Expression.h"

namespace heddle::library {

/// The halves of an f32: a bf16, as f32, and an i16; see foreach.high and
/// foreach.low.
struct Halves {
  Scalar high, low;
};
Halves split(Scalar number);
Scalar joined(Halves halves);

/// The position of the element in its member.
Scalar position(Scalar like);
/// 16 bits of the generator; see foreach.random.
Scalar randomBits(Scalar seed, Scalar stream, Scalar block, Scalar position);
/// An f32 as a neighbour in f16 or bf16, as f32; see foreach.round. An f64 is
/// rounded to f32 first.
Scalar roundedAtRandom(Scalar number, Scalar bits, mlir::Type to);

/// A step counter as an i64, plus `draw` * 2^32.
Scalar streamOf(Scalar steps, int64_t draw);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_STOREDBITS_H

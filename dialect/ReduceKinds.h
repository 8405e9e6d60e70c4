//===- ReduceKinds.h - the properties of reduction kinds --------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction has a running state. A kind defines the neutral element, and how
// to lift one element to a state, combine two states, and take the value of a
// state. The table is ReduceKinds.td.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REDUCEKINDS_H
#define HEDDLE_DIALECT_REDUCEKINDS_H

#include "dialect/Foreach.h"

namespace heddle::foreach {

/// The types of elements that a kind combines: floats and integers of 32 and 64
/// bits, only floats, or flags.
enum class ReduceElements { numbers, floats, flags };

/// The type of a part of a state: the element type, a position (i64), or a word
/// of 32 bits.
enum class StateType { absent, element, position, word };

/// The neutral element of a part; `none` is the position -1.
enum class Neutral { zero, one, lowest, highest, none };

/// A part of the state of one element: the element, its position, or the number
/// of elements (0 for an element that equals the neutral element).
enum class Lift { value, position, count };

struct StatePart {
  StateType type = StateType::absent;
  Neutral neutral = Neutral::zero;
  Lift lift = Lift::value;
};

struct ReduceKindInfo {
  ReduceKind kind;
  ReduceElements elements;
  /// The parts of the state; `second` may be absent.
  StatePart first, second;
  /// The type of the state in CUDA C++; `$T` is the type of the elements.
  llvm::StringLiteral cudaState;
};

const ReduceKindInfo &infoOf(ReduceKind kind);

/// Whether a reduction of `kind` has a second result, a position.
bool hasPosition(ReduceKind kind);

/// Whether a reduction of `kind` combines values of `type`.
bool isReducible(ReduceKind kind, mlir::Type type);
/// The types of values that `kind` combines, for messages.
llvm::StringRef reducibleTypes(ReduceKind kind);

/// The names of all kinds, for diagnostics: `add, mul, ... or mean`. Without
/// `means`, those that fused.reduce may have.
std::string reduceKindNames(bool means = true);

} // namespace heddle::foreach

#endif // HEDDLE_DIALECT_REDUCEKINDS_H

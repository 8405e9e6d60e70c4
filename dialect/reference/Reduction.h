//===- Reduction.h - values combined one block after another ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter adds a block of values to a running state. The functions of
// each kind are in dialect/ReduceKinds.td. Sums and products are taken
// pairwise, so that their error hardly grows with the number of elements.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_REDUCTION_H
#define HEDDLE_DIALECT_REFERENCE_REDUCTION_H

#include "dialect/ReduceKinds.h"

#include <cstdint>
#include <vector>

namespace heddle::reference {

class Reduction;

/// The functions of a kind for floats. `add` adds `count` values to the state;
/// `value` returns the value of the state.
struct FloatFunctions {
  void (*add)(Reduction &, const double *values, int64_t count) = nullptr;
  double (*value)(const Reduction &) = nullptr;
};

/// The functions of a kind, for floats and for two sign-extended integers.
struct ReduceFunctions {
  foreach
    ::ReduceKind kind;
  FloatFunctions floats;
  int64_t (*integers)(int64_t, int64_t);
};

class Reduction {
public:
  /// Combines values of `type`; `single` rounds every operation to f32.
  Reduction(foreach::ReduceKind kind, mlir::Type type, bool single);

  /// Resets the state to the neutral element.
  void clear();
  /// Adds further values, in order; at most one block.
  void add(const double *values, int64_t count);

  /// Skips positions that have no value.
  void skip(int64_t count) { seen += count; }

  double value() const;
  /// The position of the first extreme value; -1 if there is no value.
  int64_t position() const { return best; }

  // The state, for the functions of a kind.

  double round(double x) const {
    return single ? static_cast<double>(static_cast<float>(x)) : x;
  }
  /// Partial results of 2^k blocks, for each bit k of the number of blocks.
  std::vector<double> partials;
  uint64_t blocks = 0;
  /// The neutral element; the extreme value so far; the sum of the exponentials
  /// of the differences from it.
  double neutral = 0, top = 0, sum = 0;
  /// The number of values so far, and the position of `top` among them.
  int64_t seen = 0, best = -1;
  /// The number of values of a mean, without those that were skipped.
  int64_t count = 0;

private:
  const ReduceFunctions &functions;
  bool isFloat, single;
  unsigned width;
  int64_t integerNeutral = 0, integer = 0;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_REDUCTION_H

//===- Reduction.h - values combined one block after another ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and products are taken pairwise, so that their error does not grow with
// the number of elements.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_REDUCTION_H
#define HEDDLE_DIALECT_REFERENCE_REDUCTION_H

#include "dialect/Foreach.h"

#include <cstdint>
#include <vector>

namespace heddle::reference {

class Reduction {
public:
  /// Combines values of `type`; `single` rounds every operation to f32.
  Reduction(foreach::ReduceKind kind, mlir::Type type, bool single);

  /// Starts anew.
  void clear();
  /// Takes further values, in order; at most a block of them.
  void add(const double *values, int64_t count);

  /// Passes over positions that have no value.
  void skip(int64_t count) { seen += count; }

  double value() const;
  /// Of the first maximum, for argmax; -1 over nothing.
  int64_t position() const { return best; }

private:
  double round(double x) const {
    return single ? static_cast<double>(static_cast<float>(x)) : x;
  }
  template <typename F>
  double pairwise(const double *values, int64_t count, F combine) const;
  template <typename F> void push(double partial, F combine);
  template <typename F> double total(double neutral, F combine) const;
  void addIntegers(const double *values, int64_t count);
  void addExponentials(const double *values, int64_t count);

  foreach
    ::ReduceKind kind;
  bool isFloat, single;
  unsigned width;
  /// Partial sums of 2^k blocks, for each bit k of the number of blocks.
  std::vector<double> partials;
  uint64_t blocks = 0;
  /// The extreme value; of logsumexp, the shift of `sum`.
  double extreme = 0, sum = 0;
  int64_t integer = 0;
  int64_t seen = 0, best = -1;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_REDUCTION_H

//===- RunReduction.h - a reduction of elements and ranges ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One reduction while its elements arrive in blocks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_RUNREDUCTION_H
#define HEDDLE_DIALECT_REFERENCE_RUNREDUCTION_H

#include "dialect/Foreach.h"
#include "dialect/reference/Body.h"
#include "dialect/reference/BoundOperands.h"
#include "dialect/reference/Interpreter.h"
#include "dialect/reference/RangeReduction.h"
#include "dialect/reference/Reduction.h"

#include <algorithm>
#include <cmath>

namespace heddle::reference {

/// The reduction of one run (a row, a column or a vector), or of a member or
/// list, with its range or its perturbation if the arithmetic has one.
class RunReduction {
public:
  RunReduction(foreach::ReduceOp op, const InterpretOptions &options)
      : op(op), options(options), exact(op.getKind(), op.getReduced().getType(),
                                        !isExact(options.arithmetic)),
        ranges(op.getKind(), op.getReduced().getType()) {}

  void clear() {
    exact.clear();
    ranges.clear();
    magnitude = 0;
  }
  void add(Body &body, int64_t count) {
    exact.add(body.yielded(0), count);
    if (body.hasRanges())
      ranges.add(body.yieldedLow(0), body.yieldedHigh(0), count);
    if (options.arithmetic == Arithmetic::perturbed)
      for (int64_t k = 0; k < count; ++k)
        magnitude += std::fabs(body.yielded(0)[k]);
  }
  void skip(int64_t count) {
    exact.skip(count);
    ranges.skip(count);
  }

  /// Stores the value, and its position if there is a second result, as element
  /// `at` of `member`. `columns` and `members` are those of the domain.
  void store(Values &results, size_t member, int64_t at, int64_t columns,
             size_t members);

private:
  double value();
  /// The largest number of operations through which a value passes, in the
  /// order of any schedule (docs/lowering.md, The order of reductions).
  int64_t depth(int64_t columns, size_t members) const {
    int64_t longest = 64 + ranges.count() / 4096 + columns / 16 +
                      static_cast<int64_t>(members) / 256;
    return std::clamp<int64_t>(ranges.count() - 1, 0, longest);
  }

  heddle::foreach::ReduceOp op;
  const InterpretOptions &options;
  Reduction exact;
  RangeReduction ranges;
  double magnitude = 0;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_RUNREDUCTION_H

//===- RunReduction.cpp - a reduction of elements and ranges --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of a reduction, and its range or perturbation.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/RunReduction.h"
#include "dialect/reference/Rounding.h"

#include <cfloat>

using namespace mlir;
using heddle::foreach::storageType;

namespace heddle::reference {

/// The value. In perturbed arithmetic, it is off by `amplitude` units in the
/// last place of the value; of a sum, of the sum of the magnitudes. If that sum
/// overflows, parts of the sum overflow in some orders: then the value is an
/// infinity or, if parts of both signs overflow, NaN.
double RunReduction::value() {
  double value = exact.value();
  Type type = op.getReduced().getType();
  if (options.arithmetic != Arithmetic::perturbed || !isa<FloatType>(type))
    return value;
  bool isSum = op.getKind() == foreach::ReduceKind::add ||
               op.getKind() == foreach::ReduceKind::mean;
  double largest = type.isF64() ? DBL_MAX : FLT_MAX;
  if (isSum && std::isfinite(value) && !(magnitude < largest))
    return options.seed % 2 ? std::nan("")
                            : HUGE_VAL * signOf(value, options.seed);
  double scale = 0;
  if (op.getKind() == foreach::ReduceKind::add)
    scale = magnitude;
  else if (op.getKind() == foreach::ReduceKind::mean)
    scale = magnitude / std::max<double>(1, static_cast<double>(exact.count));
  else if (op.getKind() == foreach::ReduceKind::logsumexp)
    scale = 1 + std::fabs(value);
  else if (op.getKind() == foreach::ReduceKind::mul)
    scale = std::fabs(value);
  if (!std::isfinite(value) || !std::isfinite(scale))
    return value;
  double error = 2 * unitRoundoff(type) * options.amplitude * scale;
  return value + error * signOf(value, options.seed);
}

void RunReduction::store(Values &results, size_t member, int64_t at,
                         int64_t columns, size_t members) {
  double reduced[] = {value(), static_cast<double>(exact.position())};
  for (auto [k, result] : llvm::enumerate(results)) {
    Type storage = storageType(op.getResult(k).getType());
    Tensor &tensor = result->members[member];
    tensor.data[at] = roundTo(storage, reduced[k]);
    if (!tensor.hasRanges())
      continue;
    Range range = k == 0 ? ranges.value(reduced[0], depth(columns, members))
                         : ranges.position();
    tensor.low[at] = roundTo(storage, range.low);
    tensor.high[at] = roundTo(storage, range.high);
  }
}

} // namespace heddle::reference

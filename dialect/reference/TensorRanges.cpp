//===- TensorRanges.cpp - ranges of the elements of tensors ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges that bounded arithmetic stores with the elements of a member.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/TensorRanges.h"
#include "dialect/reference/Rounding.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::reference {

void forgetExactRanges(Tensor &tensor) {
  for (size_t k = 0; k < tensor.low.size(); ++k) {
    Range range{tensor.low[k], tensor.high[k]};
    if (!range.isExact() || !range.contains(tensor.data[k]))
      return;
  }
  tensor.low = tensor.high = {};
}

void forgetValues(Type storage, Tensor &tensor) {
  Range range = everyValue(storage);
  tensor.low.assign(tensor.data.size(), range.low);
  tensor.high.assign(tensor.data.size(), range.high);
}

Range rangeOf(const Tensor &tensor, size_t k) {
  return {tensor.lows()[k], tensor.highs()[k]};
}

void storeElement(Type storage, const Tensor &from, Tensor &to, int64_t at) {
  if (from.hasRanges() && !to.hasRanges())
    to.low = to.high = to.data;
  Range range = rangeOf(from, 0);
  to.data[at] = roundTo(storage, from.data.front());
  if (!to.hasRanges())
    return;
  to.low[at] = roundTo(storage, range.low);
  to.high[at] = roundTo(storage, range.high);
}

Value hullOf(const Value &value, const Value &other) {
  Value result = value;
  for (auto [tensor, alternative] : llvm::zip(result.members, other.members)) {
    Tensor both = tensor;
    both.low.resize(tensor.data.size());
    both.high.resize(tensor.data.size());
    for (size_t k = 0; k < tensor.data.size(); ++k) {
      Range range = hull(rangeOf(tensor, k), rangeOf(alternative, k));
      both.low[k] = range.low;
      both.high[k] = range.high;
    }
    forgetExactRanges(both);
    tensor = std::move(both);
  }
  return result;
}

} // namespace heddle::reference

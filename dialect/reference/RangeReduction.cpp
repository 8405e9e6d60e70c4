//===- RangeReduction.cpp - ranges of combined values ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kind except the product is monotone in its values. So the lower ends
// are combined, and the upper ends, and the results are moved apart by the
// error of the operations. The error of a sum is at most `depth` roundings of
// the sum of the magnitudes (Higham, Accuracy and Stability of Numerical
// Algorithms, 4.2).
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/RangeReduction.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cfloat>

using namespace mlir;
using heddle::foreach::ReduceKind;

namespace heddle::reference {

RangeReduction::RangeReduction(ReduceKind kind, Type type)
    : kind(kind), type(type), isFloat(isa<FloatType>(type)),
      lower(kind, type, /*single=*/false), upper(kind, type, /*single=*/false) {
}

void RangeReduction::clear() {
  lower.clear();
  upper.clear();
  values = seen = 0;
  allExact = true;
  anyNaN = anyAnything = mayOverflow = false;
  sumOfMagnitudes = 0;
  product = {1, 1};
  productAbove1 = productBelow1 = 1;
  candidates.clear();
  best = -std::numeric_limits<double>::infinity();
}

/// The product of two ranges; anything if 0 * inf may occur at an end.
static Range times(Range a, Range b) {
  double ends[] = {a.low * b.low, a.low * b.high, a.high * b.low,
                   a.high * b.high};
  if (std::any_of(std::begin(ends), std::end(ends),
                  [](double end) { return std::isnan(end); }))
    return Range::anything();
  return {*std::min_element(std::begin(ends), std::end(ends)),
          *std::max_element(std::begin(ends), std::end(ends))};
}

void RangeReduction::addFactor(Range factor) {
  product = times(product, factor);
  double largest = std::max(std::fabs(factor.low), std::fabs(factor.high));
  double smallest = std::min(std::fabs(factor.low), std::fabs(factor.high));
  productAbove1 *= std::max(largest, 1.0);
  if (smallest > 0)
    productBelow1 *= std::min(smallest, 1.0);
}

void RangeReduction::addCandidate(Range candidate) {
  best = std::max(best, candidate.low);
  if (candidate.high >= best)
    candidates.push_back({seen, candidate.high});
  if (candidates.size() > 1024)
    llvm::erase_if(candidates, [&](const Candidate &earlier) {
      return earlier.high < best;
    });
}

void RangeReduction::add(const double *low, const double *high, int64_t count) {
  lower.add(low, count);
  upper.add(high, count);
  values += count;
  for (int64_t k = 0; k < count; ++k, ++seen) {
    Range range{low[k], high[k]};
    allExact &= range.isExact();
    anyNaN |= std::isnan(low[k]);
    anyAnything |= isFloat && range.isAnything();
    mayOverflow |=
        !range.isExact() && (std::isinf(low[k]) || std::isinf(high[k]));
    double size = std::max(std::fabs(low[k]), std::fabs(high[k]));
    if (std::isfinite(size))
      sumOfMagnitudes += size;
    if (kind == ReduceKind::mul && isFloat)
      addFactor(range);
    if (kind == ReduceKind::argmax)
      addCandidate(range);
    if (kind == ReduceKind::argmin)
      addCandidate({-range.high, -range.low});
  }
}

Range RangeReduction::ofSum(double relative) const {
  double largest = type.isF64() ? DBL_MAX : FLT_MAX;
  double error = relative * sumOfMagnitudes;
  // A part of the sum may overflow in one order and not in another.
  if (!(sumOfMagnitudes + error < largest))
    return Range::anything();
  if (kind == ReduceKind::mean)
    error /= static_cast<double>(values);
  return {lower.value() - error, upper.value() + error};
}

Range RangeReduction::ofProduct() const {
  double largest = type.isF64() ? DBL_MAX : FLT_MAX;
  double smallest = type.isF64() ? DBL_MIN : FLT_MIN;
  if (!(productAbove1 < largest))
    return Range::anything();
  auto n = static_cast<double>(values);
  double relative = 2 * n * unitRoundoff(type);
  // Parts of a product that are denormal have an absolute error.
  double absolute = productBelow1 < smallest
                        ? n * productAbove1 * smallest * unitRoundoff(type) * 2
                        : 0;
  auto error = [&](double end) { return std::fabs(end) * relative + absolute; };
  return {product.low - error(product.low), product.high + error(product.high)};
}

/// An exponential has its own error, and an error of its argument, which is
/// proportional to the distance of the argument from the maximum. Exponentials
/// far below the maximum have little weight in the sum: the weighted mean of
/// the distances is at most the logarithm of the number of values.
Range RangeReduction::ofExponentials(double relative) const {
  double unit = unitRoundoff(type) * (type.isF64() ? 2 : 1);
  double error =
      8 * relative + (16 + 2 * std::log1p(static_cast<double>(values))) * unit;
  Range range = {lower.value(), upper.value()};
  auto ulps = [&](double end) {
    return error * (1 + unit * std::fabs(end)) + 2 * unit * std::fabs(end);
  };
  if (std::isfinite(range.low))
    range.low -= ulps(range.low);
  if (std::isfinite(range.high))
    range.high += ulps(range.high);
  return range;
}

Range RangeReduction::value(double exact, int64_t depth) const {
  if (!isFloat) {
    if (allExact)
      return Range::exactly(exact);
    bool isMonotone = kind != ReduceKind::mul;
    double limit = everyValue(type).high;
    if (!isMonotone || (kind == ReduceKind::add && sumOfMagnitudes > limit))
      return everyValue(type);
    return {lower.value(), upper.value()};
  }
  if (anyAnything)
    return Range::anything();
  if (std::isnan(exact))
    return anyNaN || !mayOverflow ? Range::exactly(exact) : Range::anything();
  // In f64, the sums of the interpreter itself have errors of the same size.
  double relative = unitRoundoff(type) * static_cast<double>(depth) *
                    (type.isF64() ? 2 : 1 + 0x1p-20);
  Range range = {lower.value(), upper.value()};
  if (kind == ReduceKind::add)
    range = ofSum(relative);
  else if (kind == ReduceKind::mean) // and the number and the quotient rounded
    range = widen(type, 3, ofSum(relative));
  else if (kind == ReduceKind::mul)
    range = ofProduct();
  else if (kind == ReduceKind::logsumexp)
    range = ofExponentials(relative);
  if (std::isnan(range.low) || std::isnan(range.high))
    return Range::anything();
  return widen(type, 0, range);
}

Range RangeReduction::position() const {
  if (candidates.empty())
    return Range::exactly(-1);
  if (anyAnything)
    return {-1, static_cast<double>(seen)};
  if (anyNaN)
    return Range::exactly(static_cast<double>(lower.position()));
  Range range = {HUGE_VAL, -HUGE_VAL};
  for (const Candidate &candidate : candidates)
    if (candidate.high >= best) {
      auto at = static_cast<double>(candidate.position);
      range = {std::min(range.low, at), std::max(range.high, at)};
    }
  return range;
}

} // namespace heddle::reference

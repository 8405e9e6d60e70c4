//===- Reduction.cpp - values combined one block after another ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A NaN among the values is the result of min, max, logsumexp and argmax, as it
// is of sums.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Reduction.h"
#include "dialect/reference/Rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using heddle::foreach::ReduceKind;

namespace heddle::reference {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Reduction::Reduction(ReduceKind kind, Type type, bool single)
    : kind(kind), isFloat(isa<FloatType>(type)), single(single && type.isF32()),
      width(isFloat ? 64 : type.getIntOrFloatBitWidth()) {
  clear();
}

void Reduction::clear() {
  partials.clear();
  blocks = 0;
  sum = 0;
  seen = 0;
  best = -1;
  extreme = kind == ReduceKind::min ? kInfinity : -kInfinity;
  int64_t largest = width >= 64 ? std::numeric_limits<int64_t>::max()
                                : (int64_t(1) << (width - 1)) - 1;
  switch (kind) {
  case ReduceKind::mul:
  case ReduceKind::all:
    integer = 1;
    break;
  case ReduceKind::min:
    integer = largest;
    break;
  case ReduceKind::max:
    integer = -largest - 1;
    break;
  default:
    integer = 0;
  }
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

template <typename F>
double Reduction::pairwise(const double *values, int64_t count,
                           F combine) const {
  if (count <= 8) {
    double result = values[0];
    for (int64_t k = 1; k < count; ++k)
      result = round(combine(result, values[k]));
    return result;
  }
  int64_t half = count / 2;
  return round(combine(pairwise(values, half, combine),
                       pairwise(values + half, count - half, combine)));
}

/// Combines blocks as a binary counter carries.
template <typename F> void Reduction::push(double partial, F combine) {
  for (uint64_t bits = blocks; bits & 1; bits >>= 1) {
    partial = round(combine(partials.back(), partial));
    partials.pop_back();
  }
  partials.push_back(partial);
  ++blocks;
}

template <typename F> double Reduction::total(double neutral, F combine) const {
  if (partials.empty())
    return neutral;
  double result = partials.back();
  for (size_t k = partials.size() - 1; k-- > 0;)
    result = round(combine(partials[k], result));
  return result;
}

static double plus(double a, double b) { return a + b; }
static double times(double a, double b) { return a * b; }

//===----------------------------------------------------------------------===//
// The other kinds
//===----------------------------------------------------------------------===//

void Reduction::addIntegers(const double *values, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    int64_t value = integerFrom(values[k]);
    switch (kind) {
    case ReduceKind::add:
      integer = wrap(static_cast<int64_t>(static_cast<uint64_t>(integer) +
                                          static_cast<uint64_t>(value)),
                     width);
      break;
    case ReduceKind::mul:
      integer = wrap(static_cast<int64_t>(static_cast<uint64_t>(integer) *
                                          static_cast<uint64_t>(value)),
                     width);
      break;
    case ReduceKind::min:
      integer = std::min(integer, value);
      break;
    case ReduceKind::max:
      integer = std::max(integer, value);
      break;
    case ReduceKind::any:
      integer |= value;
      break;
    default:
      integer &= value;
    }
  }
}

void Reduction::addExponentials(const double *values, int64_t count) {
  double top = extreme;
  for (int64_t k = 0; k < count; ++k)
    if (std::isnan(top) || !(values[k] <= top))
      top = std::isnan(top) ? top : values[k];
  if (std::isnan(top) || std::isinf(top)) {
    // All of it is -inf, or the result is +inf or NaN.
    extreme = top;
    return;
  }
  std::vector<double> terms(values, values + count);
  for (double &term : terms)
    term = round(std::exp(round(term - top)));
  double added = pairwise(terms.data(), count, plus);
  double kept = round(sum * round(std::exp(round(extreme - top))));
  sum = round(kept + added);
  extreme = top;
}

void Reduction::add(const double *values, int64_t count) {
  if (count == 0)
    return;
  if (!isFloat)
    return addIntegers(values, count);
  switch (kind) {
  case ReduceKind::add:
    return push(pairwise(values, count, plus), plus);
  case ReduceKind::mul:
    return push(pairwise(values, count, times), times);
  case ReduceKind::logsumexp:
    return addExponentials(values, count);
  case ReduceKind::min:
    for (int64_t k = 0; k < count; ++k)
      if (!std::isnan(extreme) && !(values[k] >= extreme))
        extreme = values[k];
    return;
  case ReduceKind::max:
    for (int64_t k = 0; k < count; ++k)
      if (!std::isnan(extreme) && !(values[k] <= extreme))
        extreme = values[k];
    return;
  default: // argmax
    for (int64_t k = 0; k < count; ++k, ++seen)
      if (best < 0 || (!std::isnan(extreme) && !(values[k] <= extreme))) {
        extreme = values[k];
        best = seen;
      }
  }
}

double Reduction::value() const {
  if (!isFloat)
    return static_cast<double>(integer);
  switch (kind) {
  case ReduceKind::add:
    return total(0, plus);
  case ReduceKind::mul:
    return total(1, times);
  case ReduceKind::logsumexp:
    if (std::isnan(extreme) || std::isinf(extreme))
      return extreme;
    return round(extreme + round(std::log(sum)));
  default:
    return extreme;
  }
}

} // namespace heddle::reference

//===- Reduction.cpp - values combined one block after another ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that dialect/ReduceKinds.td names. As in a sum, the result over
// floats is NaN if a value is NaN.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Reduction.h"
#include "dialect/reference/Rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using heddle::foreach::Neutral;
using heddle::foreach::ReduceKind;

namespace heddle::reference {

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

using Combine = double (*)(double, double);

template <Combine F>
static double tree(const Reduction &r, const double *values, int64_t count) {
  if (count <= 8) {
    double result = values[0];
    for (int64_t k = 1; k < count; ++k)
      result = r.round(F(result, values[k]));
    return result;
  }
  int64_t half = count / 2;
  return r.round(
      F(tree<F>(r, values, half), tree<F>(r, values + half, count - half)));
}

/// Combines blocks pairwise, like the carries of a binary counter.
template <Combine F>
static void addPairwise(Reduction &r, const double *values, int64_t count) {
  double partial = tree<F>(r, values, count);
  for (uint64_t bits = r.blocks; bits & 1; bits >>= 1) {
    partial = r.round(F(r.partials.back(), partial));
    r.partials.pop_back();
  }
  r.partials.push_back(partial);
  ++r.blocks;
}

template <Combine F> static double totalPairwise(const Reduction &r) {
  if (r.partials.empty())
    return r.neutral;
  double result = r.partials.back();
  for (size_t k = r.partials.size() - 1; k-- > 0;)
    result = r.round(F(r.partials[k], result));
  return F(r.neutral, result); // the sum of negative zeros is +0
}

template <Combine F>
static constexpr FloatFunctions pairwise = {addPairwise<F>, totalPairwise<F>};

static double plus(double a, double b) { return a + b; }

static constexpr FloatFunctions counted = {
    [](Reduction &r, const double *values, int64_t count) {
      addPairwise<plus>(r, values, count);
      r.count += count;
    },
    [](const Reduction &r) {
      double total = r.round(totalPairwise<plus>(r));
      return r.round(total / r.round(static_cast<double>(r.count)));
    }};

//===----------------------------------------------------------------------===//
// Extreme values
//===----------------------------------------------------------------------===//

/// Keeps the first value that no other replaces. `Replaces` is true for NaN.
template <bool (*Replaces)(double x, double best)>
static void addExtreme(Reduction &r, const double *values, int64_t count) {
  for (int64_t k = 0; k < count; ++k, ++r.seen)
    if (r.best < 0 || (!std::isnan(r.top) && Replaces(values[k], r.top))) {
      r.top = values[k];
      r.best = r.seen;
    }
}

/// -0 is smaller than +0. (Positions are those of the first of equal numbers.)
static bool isSmaller(double x, double best) {
  return x == best ? std::signbit(x) && !std::signbit(best) : !(x > best);
}
static bool isLarger(double x, double best) { return isSmaller(-x, -best); }

template <bool (*Replaces)(double x, double best)>
static constexpr FloatFunctions extreme = {
    addExtreme<Replaces>, [](const Reduction &r) { return r.top; }};

//===----------------------------------------------------------------------===//
// Sums of exponentials
//===----------------------------------------------------------------------===//

static void addExponentials(Reduction &r, const double *values, int64_t count) {
  double top = r.top;
  for (int64_t k = 0; k < count; ++k)
    if (std::isnan(top) || !(values[k] <= top))
      top = std::isnan(top) ? top : values[k];
  if (std::isnan(top) || std::isinf(top)) {
    // All values are -inf, or the result is +inf or NaN.
    r.top = top;
    return;
  }
  std::vector<double> terms(values, values + count);
  for (double &term : terms)
    term = r.round(std::exp(r.round(term - top)));
  double added = tree<plus>(r, terms.data(), count);
  double kept = r.round(r.sum * r.round(std::exp(r.round(r.top - top))));
  r.sum = r.round(kept + added);
  r.top = top;
}

static double logOfExponentials(const Reduction &r) {
  if (std::isnan(r.top) || std::isinf(r.top))
    return r.top;
  return r.round(r.top + r.round(std::log(r.sum)));
}

static constexpr FloatFunctions exponentials = {addExponentials,
                                                logOfExponentials};

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

/// The functions of a kind that combines no floats.
static constexpr FloatFunctions none = {};

#define GET_ReduceFunctionTable_IMPL
#include "dialect/ReduceKinds.inc"

static double neutralOfFloats(Neutral neutral) {
  switch (neutral) {
  case Neutral::zero:
    return 0;
  case Neutral::one:
    return 1;
  case Neutral::lowest:
    return -std::numeric_limits<double>::infinity();
  case Neutral::highest:
    return std::numeric_limits<double>::infinity();
  case Neutral::none:
    return -1;
  }
  llvm_unreachable("all neutral elements are handled");
}

static int64_t neutralOfIntegers(Neutral neutral, unsigned width) {
  int64_t largest = width >= 64 ? std::numeric_limits<int64_t>::max()
                                : (int64_t(1) << (width - 1)) - 1;
  switch (neutral) {
  case Neutral::zero:
    return 0;
  case Neutral::one:
    return 1;
  case Neutral::lowest:
    return -largest - 1;
  case Neutral::highest:
    return largest;
  case Neutral::none:
    return -1;
  }
  llvm_unreachable("all neutral elements are handled");
}

Reduction::Reduction(ReduceKind kind, Type type, bool single)
    : functions(*llvm::find_if(
          ReduceFunctionTable,
          [&](const ReduceFunctions &entry) { return entry.kind == kind; })),
      isFloat(isa<FloatType>(type)), single(single && type.isF32()),
      width(isFloat ? 64 : type.getIntOrFloatBitWidth()) {
  Neutral first = foreach::infoOf(kind).first.neutral;
  neutral = neutralOfFloats(first);
  integerNeutral = neutralOfIntegers(first, width);
  assert((isFloat ? functions.floats.add != nullptr
                  : functions.integers != nullptr) &&
         "the verifier admits only types that the kind combines");
  clear();
}

void Reduction::clear() {
  partials.clear();
  blocks = 0;
  top = neutral;
  sum = 0;
  seen = count = 0;
  best = -1;
  integer = integerNeutral;
}

void Reduction::add(const double *values, int64_t count) {
  if (count == 0)
    return;
  if (isFloat)
    return functions.floats.add(*this, values, count);
  for (int64_t k = 0; k < count; ++k)
    integer = wrap(functions.integers(integer, integerFrom(values[k])), width);
}

double Reduction::value() const {
  return isFloat ? functions.floats.value(*this) : static_cast<double>(integer);
}

} // namespace heddle::reference

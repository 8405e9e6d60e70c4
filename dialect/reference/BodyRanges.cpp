//===- BodyRanges.cpp - ranges of one map or reduction --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the column RANGE of dialect/ScalarOps.def. The function of a range
// runs after the function that computes the exact results.
//
//===----------------------------------------------------------------------===//

#include "dialect/Foreach.h"
#include "dialect/ScalarOps.h"
#include "dialect/reference/Body.h"
#include "dialect/reference/Ranges.h"
#include "dialect/reference/Rounding.h"
#include "dialect/reference/ScalarFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <array>

using namespace mlir;

namespace heddle::reference {

namespace {
struct IntegerRange {
  int64_t low, high;
  bool isExact() const { return low == high; }
};
} // namespace

static IntegerRange everyInteger(unsigned width) {
  if (width == 1)
    return {0, 1};
  int64_t high = width >= 64 ? std::numeric_limits<int64_t>::max()
                             : (int64_t(1) << (width - 1)) - 1;
  return {-high - 1, high};
}

//===----------------------------------------------------------------------===//
// The ends of a function's range
//===----------------------------------------------------------------------===//

static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The smallest range that holds `values`; NaN if one of them is.
template <size_t N> static Range hullOf(const std::array<double, N> &values) {
  Range range = Range::exactly(values[0]);
  bool isNumber = values[0] == values[0];
  for (size_t k = 1; k < N; ++k) {
    range.low = values[k] < range.low ? values[k] : range.low;
    range.high = values[k] > range.high ? values[k] : range.high;
    isNumber &= values[k] == values[k];
  }
  return isNumber ? range : Range::exactly(kNaN);
}

template <auto F> static Range ends(Range a) {
  double low = F(a.low);
  return hullOf<2>({low, a.low == a.high ? low : F(a.high)});
}

template <auto F> static Range ends(Range a, Range b) {
  return hullOf<4>(
      {F(a.low, b.low), F(a.low, b.high), F(a.high, b.low), F(a.high, b.high)});
}

template <auto F> static Range ends(Range a, Range b, Range c) {
  return hullOf<8>({F(a.low, b.low, c.low), F(a.low, b.high, c.low),
                    F(a.high, b.low, c.low), F(a.high, b.high, c.low),
                    F(a.low, b.low, c.high), F(a.low, b.high, c.high),
                    F(a.high, b.low, c.high), F(a.high, b.high, c.high)});
}

static Range magnitude(Range a) {
  double low = std::fabs(a.low), high = std::fabs(a.high);
  bool straddles = a.low < 0 && a.high > 0;
  return {straddles ? 0 : std::min(low, high), std::max(low, high)};
}

static Range square(Range a) {
  Range size = magnitude(a);
  return {size.low * size.low, size.high * size.high};
}

/// If the divisor may be 0 or another number, the quotient may be anything.
static Range quotient(Range a, Range b) {
  if (b.low <= 0 && b.high >= 0 && b.low < b.high)
    return Range::anything();
  return ends<[](double a, double b) { return a / b; }>(a, b);
}

/// A power of numbers of at least 0 is monotone in both operands.
static Range power(Range a, Range b) {
  if (a.low < 0 && !(a.isExact() && b.isExact()))
    return Range::anything();
  return ends<[](double a, double b) { return std::pow(a, b); }>(a, b);
}

static Range withSign(Range a, Range b) {
  Range size = magnitude(a);
  bool isNegative = std::signbit(b.low);
  if (b.low < 0 ? b.high < 0 : b.low > 0 || b.low == b.high)
    return isNegative ? Range{-size.high, -size.low} : size;
  return {-size.high, size.high};
}

/// A sine or cosine changes by at most as much as its operand.
template <auto F> static Range sineOrCosine(Range a) {
  double at = F(a.low), distance = a.high - a.low;
  if (a.isExact())
    return Range::exactly(at);
  if (!std::isfinite(distance))
    return Range::anything();
  return {std::max(at - distance, -1.0), std::min(at + distance, 1.0)};
}

/// Between two poles, a tangent is increasing. Ends that are closer than pi and
/// have a pole between them are not in this order.
static Range tangent(Range a) {
  double low = std::tan(a.low), high = std::tan(a.high);
  if (a.isExact())
    return Range::exactly(low);
  return a.high - a.low < 3 && low <= high ? Range{low, high}
                                           : Range::anything();
}

/// The angle of a point (b, a). It is monotone in each coordinate in a half
/// plane without the negative half of the axis.
static Range angle(Range a, Range b) {
  if ((a.isExact() && b.isExact()) || b.low > 0 || a.low > 0 || a.high < 0)
    return ends<[](double a, double b) { return std::atan2(a, b); }>(a, b);
  constexpr double pi = 3.141592653589793;
  return {-pi, pi};
}

/// A remainder has the sign of the dividend, at most its size, and less than
/// the size of the divisor. Of dividends with one quotient, it is monotone.
static Range remainder(Range a, Range b) {
  Range size = magnitude(b);
  if (size.low == 0 || !std::isfinite(a.low) || !std::isfinite(a.high))
    return a.isExact() && b.isExact() ? Range::exactly(std::fmod(a.low, b.low))
                                      : Range::anything();
  double low = std::fmod(a.low, size.low), high = std::fmod(a.high, size.low);
  // Less than the divisor apart and in the order of the dividends: no multiple
  // of the divisor is between them.
  if (b.isExact() && a.high - a.low < size.low && low <= high &&
      (low < 0) == (high < 0))
    return {low, high};
  if (a.isExact() && std::fabs(a.low) < size.low)
    return a;
  double most = std::min(size.high, magnitude(a).high);
  return {a.low < 0 ? -most : 0, a.high > 0 ? most : 0};
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

struct RangeOperations {
  using Instruction = Body::Instruction;

  static Range floatAt(Body &body, unsigned slot, int64_t k) {
    return {body.lows(slot)[k], body.highs(slot)[k]};
  }
  static IntegerRange integerAt(Body &body, unsigned slot, int64_t k) {
    return {body.integerLows(slot)[k], body.integerHighs(slot)[k]};
  }
  static void set(Body &body, unsigned slot, int64_t k, Range range) {
    body.lows(slot)[k] = range.low;
    body.highs(slot)[k] = range.high;
  }
  static void set(Body &body, unsigned slot, int64_t k, IntegerRange range) {
    body.integerLows(slot)[k] = range.low;
    body.integerHighs(slot)[k] = range.high;
  }

  /// The range of a float function where operands are infinite, NaN or may be
  /// anything, or where the function has no value at an end.
  template <size_t N>
  static Range special(const std::array<Range, N> &operands, double value,
                       Range range) {
    bool exact = true, notNumbers = false;
    for (Range operand : operands) {
      if (operand.isAnything())
        return Range::anything();
      exact &= operand.isExact();
      notNumbers |= std::isnan(operand.low);
    }
    if (std::isnan(value))
      return exact || notNumbers ? Range::exactly(kNaN) : Range::anything();
    return std::isnan(range.low) ? Range::anything() : range;
  }

  template <size_t N, auto Ends>
  static void floats(const Instruction &x, Body &body, int64_t count) {
    const unsigned slots[] = {x.a, x.b, x.c};
    const double *value = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      std::array<Range, N> operands;
      bool isFinite = true;
      for (size_t n = 0; n < N; ++n) {
        operands[n] = floatAt(body, slots[n], k);
        isFinite &= operands[n].high - operands[n].low < HUGE_VAL;
      }
      Range range = std::apply(Ends, operands);
      if (!isFinite || !(range.low <= range.high))
        range = special(operands, value[k], range);
      set(body, x.result, k, range);
    }
    widenResult(x, body, count);
  }

  static void widenResult(const Instruction &x, Body &body, int64_t count) {
    widen(x.type, x.accuracy, body.floats(x.result), body.lows(x.result),
          body.highs(x.result), count);
  }

  template <auto F>
  static void float1(const Instruction &x, Body &body, int64_t count) {
    floats<1, [](Range a) { return ends<F>(a); }>(x, body, count);
  }
  template <auto F>
  static void float2(const Instruction &x, Body &body, int64_t count) {
    floats<2, [](Range a, Range b) { return ends<F>(a, b); }>(x, body, count);
  }
  template <auto F>
  static void float3(const Instruction &x, Body &body, int64_t count) {
    floats<3, [](Range a, Range b, Range c) { return ends<F>(a, b, c); }>(
        x, body, count);
  }

  /// Sums and products of doubles are often exact, as in a counter. Their range
  /// is then one value. `Error` computes the rounding error of a result.
  template <auto F, auto Error>
  static void arithmetic(const Instruction &x, Body &body, int64_t count) {
    float2<F>(x, body, count);
    if (!x.type.isF64())
      return;
    const double *value = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      Range a = floatAt(body, x.a, k), b = floatAt(body, x.b, k);
      if (a.isExact() && b.isExact() && Error(a.low, b.low, value[k]) == 0)
        set(body, x.result, k, Range::exactly(value[k]));
    }
  }

  template <auto F>
  static void integer1(const Instruction &x, Body &body, int64_t count) {
    integers(x, body, count, [&](int64_t k) {
      IntegerRange a = integerAt(body, x.a, k);
      return between<1>(x, {F(a.low, x.from), F(a.high, x.from)});
    });
  }
  template <auto F>
  static void integer2(const Instruction &x, Body &body, int64_t count) {
    integers(x, body, count, [&](int64_t k) {
      IntegerRange a = integerAt(body, x.a, k), b = integerAt(body, x.b, k);
      auto at = [&](int64_t a, int64_t b) {
        return F(signedView(a, x.from), signedView(b, x.from), x.from);
      };
      return between<2>(x, {at(a.low, b.low), at(a.low, b.high),
                            at(a.high, b.low), at(a.high, b.high)});
    });
  }
  /// For functions that are monotone in the first operand, but not in both.
  template <auto F>
  static void integerFirst(const Instruction &x, Body &body, int64_t count) {
    integers(x, body, count, [&](int64_t k) {
      IntegerRange a = integerAt(body, x.a, k), b = integerAt(body, x.b, k);
      if (!b.isExact())
        return everyInteger(x.to);
      auto at = [&](int64_t a) {
        return F(signedView(a, x.from), signedView(b.low, x.from), x.from);
      };
      return between<1>(x, {at(a.low), at(a.high)});
    });
  }

  /// The integers between `values`, or all integers if one of the values may
  /// have wrapped, as any value of 64 bits may.
  template <size_t Arity>
  static IntegerRange between(const Instruction &x,
                              std::array<int64_t, 1 << Arity> values) {
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    IntegerRange every = everyInteger(x.to);
    bool wraps =
        x.to == 1 || x.to >= 64 || *low < every.low || *high > every.high;
    return wraps ? every : IntegerRange{*low, *high};
  }

  /// An integer result is exact if all operands are.
  template <class Ranges>
  static void integers(const Instruction &x, Body &body, int64_t count,
                       Ranges ranges) {
    const int64_t *value = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      set(body, x.result, k,
          isExact(x, body, k) ? IntegerRange{value[k], value[k]} : ranges(k));
  }

  static bool isExact(const Instruction &x, Body &body, int64_t k) {
    const unsigned slots[] = {x.a, x.b, x.c, x.d};
    for (unsigned n = 0; n < x.operands; ++n)
      if (x.readsFloat >> n & 1 ? !floatAt(body, slots[n], k).isExact()
                                : !integerAt(body, slots[n], k).isExact())
        return false;
    return true;
  }

  static void anyInteger(const Instruction &x, Body &body, int64_t count) {
    integers(x, body, count, [&](int64_t) { return everyInteger(x.to); });
  }

  /// `combine` is monotone in flags, but not in wider integers.
  static void flags(const Instruction &x, Body &body, int64_t count,
                    int64_t (*combine)(int64_t, int64_t)) {
    integers(x, body, count, [&](int64_t k) {
      if (x.to != 1)
        return everyInteger(x.to);
      IntegerRange a = integerAt(body, x.a, k), b = integerAt(body, x.b, k);
      return IntegerRange{combine(a.low, b.low), combine(a.high, b.high)};
    });
  }
  static void both(const Instruction &x, Body &body, int64_t count) {
    flags(x, body, count, [](int64_t a, int64_t b) { return a & b; });
  }
  static void either(const Instruction &x, Body &body, int64_t count) {
    flags(x, body, count, [](int64_t a, int64_t b) { return a | b; });
  }

  /// A test of a float, made at both ends of its range and between them.
  template <auto F>
  static void test(const Instruction &x, Body &body, int64_t count) {
    integers(x, body, count, [&](int64_t k) {
      Range a = floatAt(body, x.a, k);
      if (a.isAnything())
        return IntegerRange{0, 1};
      // All numbers between the ends are finite, as 0 is.
      bool low = F(a.low), high = F(a.high), middle = F(0.0);
      return IntegerRange{low && high && middle, low || high || middle};
    });
  }

  static void compareFloats(const Instruction &x, Body &body, int64_t count) {
    auto predicate = static_cast<arith::CmpFPredicate>(x.predicate);
    auto holds = [&](double a, double b) { return compare(predicate, a, b); };
    integers(x, body, count, [&](int64_t k) {
      Range a = floatAt(body, x.a, k), b = floatAt(body, x.b, k);
      if (a.isAnything() || b.isAnything())
        return IntegerRange{0, 1};
      if (std::isnan(a.low) || std::isnan(b.low))
        return IntegerRange{holds(kNaN, 0), holds(kNaN, 0)};
      return decided(a.low < b.high, a.low <= b.high && b.low <= a.high,
                     a.high > b.low, holds(0, 1), holds(0, 0), holds(1, 0));
    });
  }

  static void compareIntegers(const Instruction &x, Body &body, int64_t count) {
    auto predicate = static_cast<arith::CmpIPredicate>(x.predicate);
    auto holds = [&](int64_t a, int64_t b) {
      return compare(predicate, a, b, x.from);
    };
    integers(x, body, count, [&](int64_t k) {
      IntegerRange a = integerAt(body, x.a, k), b = integerAt(body, x.b, k);
      // Unsigned and signed order agree among numbers of at least 0.
      bool isSigned = predicate < arith::CmpIPredicate::ult && x.from > 1;
      if (!isSigned && std::min(a.low, b.low) < 0)
        return IntegerRange{0, 1};
      return decided(a.low < b.high, a.low <= b.high && b.low <= a.high,
                     a.high > b.low, holds(0, 1), holds(0, 0), holds(1, 0));
    });
  }

  /// The range of a comparison: which orders of the operands are possible, and
  /// the flag of each order.
  static IntegerRange decided(bool mayBeLess, bool mayBeEqual,
                              bool mayBeGreater, bool less, bool equal,
                              bool greater) {
    bool low = !(mayBeLess && !less) && !(mayBeEqual && !equal) &&
               !(mayBeGreater && !greater);
    bool high = (mayBeLess && less) || (mayBeEqual && equal) ||
                (mayBeGreater && greater);
    return {low, high};
  }

  static void selectFloats(const Instruction &x, Body &body, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      IntegerRange flag = integerAt(body, x.a, k);
      Range yes = floatAt(body, x.b, k), no = floatAt(body, x.c, k);
      set(body, x.result, k,
          !flag.isExact() ? hull(yes, no)
          : flag.low      ? yes
                          : no);
    }
  }

  static void selectIntegers(const Instruction &x, Body &body, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      IntegerRange flag = integerAt(body, x.a, k);
      IntegerRange yes = integerAt(body, x.b, k), no = integerAt(body, x.c, k);
      IntegerRange both = {std::min(yes.low, no.low),
                           std::max(yes.high, no.high)};
      set(body, x.result, k, !flag.isExact() ? both : flag.low ? yes : no);
    }
  }

  /// A power of n is n multiplications, each rounded. If n is negative, it is
  /// the reciprocal.
  static void integerPower(const Instruction &x, Body &body, int64_t count) {
    const double *value = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      Range base = floatAt(body, x.a, k);
      IntegerRange exponent = integerAt(body, x.b, k);
      Range range = Range::anything();
      if (exponent.isExact())
        range = powerOf(base, signedView(exponent.low, x.from), x.type);
      if (!(base.high - base.low < HUGE_VAL) || !(range.low <= range.high))
        range = special<1>({base}, value[k], range);
      set(body, x.result, k, range);
    }
    widenResult(x, body, count);
  }

  static Range powerOf(Range base, int64_t n, Type type) {
    if (n == 0)
      return Range::exactly(1);
    auto size = std::fabs(static_cast<double>(n));
    bool even = n % 2 == 0;
    Range from = even ? magnitude(base) : base;
    Range range = {std::pow(from.low, size), std::pow(from.high, size)};
    if (size > 1)
      range = widen(type, size, range);
    return n > 0 ? range : quotient(Range::exactly(1), range);
  }

  template <bool Signed>
  static void toFloats(const Instruction &x, Body &body, int64_t count) {
    auto at = [&](int64_t end) {
      return Signed ? static_cast<double>(signedView(end, x.from))
                    : static_cast<double>(unsignedView(end, x.from));
    };
    for (int64_t k = 0; k < count; ++k) {
      IntegerRange a = integerAt(body, x.a, k);
      Range range = hullOf<2>({at(a.low), at(a.high)});
      if (!Signed && (a.low < 0) != (a.high < 0))
        range = {0, std::ldexp(1.0, static_cast<int>(x.from))};
      set(body, x.result, k, range);
    }
    widenResult(x, body, count);
  }

  static void toIntegers(const Instruction &x, Body &body, int64_t count) {
    integers(x, body, count, [&](int64_t k) {
      Range a = floatAt(body, x.a, k);
      // A flag of -1 is stored as 1.
      return a.isAnything() || x.to == 1
                 ? everyInteger(x.to)
                 : IntegerRange{toInteger(a.low, x.to),
                                toInteger(a.high, x.to)};
    });
  }
  static void toUnsignedIntegers(const Instruction &x, Body &body,
                                 int64_t count) {
    integers(x, body, count, [&](int64_t k) {
      Range a = floatAt(body, x.a, k);
      IntegerRange range = {wrap(toUnsigned(a.low, x.to), x.to),
                            wrap(toUnsigned(a.high, x.to), x.to)};
      // Stored as signed integers, the ends have another order if only one of
      // them has the highest bit.
      return a.isAnything() || range.low > range.high ? everyInteger(x.to)
                                                      : range;
    });
  }

  /// The bits of floats of one sign are in their order, or the reverse. NaN has
  /// several bit patterns.
  static void toBits(const Instruction &x, Body &body, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      Range a = floatAt(body, x.a, k);
      bool isOrdered = a.low <= a.high && !a.isAnything() &&
                       std::signbit(a.low) == std::signbit(a.high);
      auto [low, high] =
          std::minmax({bitsOf(a.low, x.to), bitsOf(a.high, x.to)});
      set(body, x.result, k,
          isOrdered ? IntegerRange{low, high} : everyInteger(x.to));
    }
  }
  static void fromBits(const Instruction &x, Body &body, int64_t count) {
    const double *value = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      IntegerRange a = integerAt(body, x.a, k);
      double low = floatOf(a.low, x.from), high = floatOf(a.high, x.from);
      bool isOrdered =
          low == low && high == high && (a.low < 0) == (a.high < 0);
      set(body, x.result, k,
          a.isExact()  ? Range::exactly(value[k])
          : !isOrdered ? Range::anything()
                       : Range{std::min(low, high), std::max(low, high)});
    }
  }
  /// Monotone in the upper half, and in the lower half away from 0.
  static void join(const Instruction &x, Body &body, int64_t count) {
    const double *value = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      Range high = floatAt(body, x.a, k);
      IntegerRange low = integerAt(body, x.b, k);
      auto at = [&](double end, bool isUp) {
        // The lower half of a zero is that of the sign that goes further.
        if (end == 0)
          end = isUp ? 0.0 : -0.0;
        bool isMost = isUp != std::signbit(end);
        int64_t least = end == 0 ? std::max<int64_t>(low.low, 0) : low.low;
        return joinOf(end, isMost ? std::max(low.high, least) : least);
      };
      set(body, x.result, k,
          high.isExact() && low.isExact()
              ? Range::exactly(value[k])
              : special<1>({high}, value[k],
                           {at(high.low, false), at(high.high, true)}));
    }
  }
  /// With known bits, rounding is monotone. Otherwise the result is between the
  /// results for the fewest and the most bits.
  template <bool ToBrain>
  static void roundAtRandom(const Instruction &x, Body &body, int64_t count) {
    const double *value = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      Range a = floatAt(body, x.a, k);
      IntegerRange bits = integerAt(body, x.b, k);
      auto at = [&](double end, bool isUp) {
        bool isMost = isUp != std::signbit(end);
        return roundedAtRandom(end, bits.isExact() ? bits.low : -isMost,
                               ToBrain);
      };
      set(body, x.result, k,
          special<1>({a}, value[k], {at(a.low, false), at(a.high, true)}));
    }
  }
  static void copyFloats(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.lows(x.a), count, body.lows(x.result));
    std::copy_n(body.highs(x.a), count, body.highs(x.result));
  }
  static void copyIntegers(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.integerLows(x.a), count, body.integerLows(x.result));
    std::copy_n(body.integerHighs(x.a), count, body.integerHighs(x.result));
  }

  /// Constants and the iteration are exact.
  static void exactFloats(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.floats(x.result), count, body.lows(x.result));
    std::copy_n(body.floats(x.result), count, body.highs(x.result));
  }
  static void exactIntegers(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.integers(x.result), count, body.integerLows(x.result));
    std::copy_n(body.integers(x.result), count, body.integerHighs(x.result));
  }

  /// A 16-bit float is rounded as if a list stored it.
  static void stored(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.lows(x.a), count, body.lows(x.result));
    std::copy_n(body.highs(x.a), count, body.highs(x.result));
    widenResult(x, body, count);
  }

  static void loadIntegers(const Instruction &x, Body &body, int64_t count) {
    for (int64_t k = 0; k < count; ++k)
      set(body, x.result, k,
          IntegerRange{integerFrom(body.lows(x.a)[k]),
                       integerFrom(body.highs(x.a)[k])});
  }
  static void storeIntegers(const Instruction &x, Body &body, int64_t count) {
    for (int64_t k = 0; k < count; ++k)
      set(body, x.result, k,
          Range{static_cast<double>(body.integerLows(x.a)[k]),
                static_cast<double>(body.integerHighs(x.a)[k])});
  }

  static Body::Run special(arith::AddFOp) {
    return arithmetic<[](double a, double b) { return a + b; }, errorOfSum>;
  }
  static Body::Run special(arith::SubFOp) {
    return arithmetic<[](double a, double b) { return a - b; },
                      [](double a, double b, double sum) {
                        return errorOfSum(a, -b, sum);
                      }>;
  }
  static Body::Run special(arith::MulFOp op) {
    if (op.getLhs() == op.getRhs())
      return floats<1, square>;
    return arithmetic<[](double a, double b) { return a * b; },
                      [](double a, double b, double product) {
                        return std::fma(a, b, -product);
                      }>;
  }
  static Body::Run special(arith::DivFOp) { return floats<2, quotient>; }
  static Body::Run special(math::AbsFOp) { return floats<1, magnitude>; }
  static Body::Run special(math::CopySignOp) { return floats<2, withSign>; }
  static Body::Run special(math::PowFOp) { return floats<2, power>; }
  static Body::Run special(math::FPowIOp) { return integerPower; }
  static Body::Run special(math::SinOp) {
    return floats<1, sineOrCosine<[](double a) { return std::sin(a); }>>;
  }
  static Body::Run special(math::CosOp) {
    return floats<1, sineOrCosine<[](double a) { return std::cos(a); }>>;
  }
  static Body::Run special(math::IsNaNOp) {
    return test<[](double a) { return std::isnan(a); }>;
  }
  static Body::Run special(math::IsInfOp) {
    return test<[](double a) { return std::isinf(a); }>;
  }
  static Body::Run special(math::IsFiniteOp) {
    return test<[](double a) { return std::isfinite(a); }>;
  }
  static Body::Run special(arith::CmpFOp) { return compareFloats; }
  static Body::Run special(arith::CmpIOp) { return compareIntegers; }
  static Body::Run special(arith::SelectOp op) {
    return isa<FloatType>(op.getType()) ? selectFloats : selectIntegers;
  }
  static Body::Run special(arith::AndIOp) { return both; }
  static Body::Run special(arith::OrIOp) { return either; }
  static Body::Run special(arith::SIToFPOp) { return toFloats<true>; }
  static Body::Run special(arith::UIToFPOp) { return toFloats<false>; }
  static Body::Run special(arith::FPToSIOp) { return toIntegers; }
  static Body::Run special(arith::FPToUIOp) { return toUnsignedIntegers; }
  static Body::Run special(arith::BitcastOp op) {
    bool fromFloat = isa<FloatType>(op.getIn().getType());
    bool toFloat = isa<FloatType>(op.getType());
    return fromFloat ? toFloat ? copyFloats : toBits
                     : (toFloat ? fromBits : copyIntegers);
  }
  static Body::Run special(foreach::HighOp) {
    return float1<[](double a) { return highOf(a); }>;
  }
  static Body::Run special(foreach::JoinOp) { return join; }
  static Body::Run special(foreach::RoundOp op) {
    return op.getTo().isBF16() ? roundAtRandom<true> : roundAtRandom<false>;
  }
  static Body::Run special(arith::DivSIOp) {
    return integerFirst<[](int64_t a, int64_t b, unsigned) -> int64_t {
      return divide(a, b);
    }>;
  }
  static Body::Run special(arith::ShLIOp) {
    return integerFirst<[](uint64_t a, uint64_t b, unsigned width) -> int64_t {
      return beyond(b, width) ? 0 : a << b;
    }>;
  }
  static Body::Run special(arith::ShRSIOp) {
    return integerFirst<[](int64_t a, int64_t b, unsigned width) -> int64_t {
      return (a >> (beyond(b, width) ? 63 : b));
    }>;
  }
  static Body::Run special(arith::RemFOp) { return floats<2, remainder>; }
  static Body::Run special(math::TanOp) { return floats<1, tangent>; }
  static Body::Run special(math::Atan2Op) { return floats<2, angle>; }

  /// The rounding error of `sum`, exactly, unless the sum overflows.
  static double errorOfSum(double a, double b, double sum) {
    double added = sum - a;
    return (a - (sum - added)) + (b - added);
  }
};

Body::Run Body::rangeOf(Operation *op) {
  using Operations = RangeOperations;
  if (auto type = op->getResult(0).getType(); type.isF16() || type.isBF16())
    return Operations::stored;
#define FLOAT1(EXPRESSION)                                                     \
  Operations::float1<[](double a) { return (EXPRESSION); }>
#define FLOAT2(EXPRESSION)                                                     \
  Operations::float2<[](double a, double b) { return (EXPRESSION); }>
#define FLOAT3(EXPRESSION)                                                     \
  Operations::float3<[](double a, double b, double c) { return (EXPRESSION); }>
#define INTEGER1(EXPRESSION)                                                   \
  Operations::integer1<[](int64_t a, unsigned width) -> int64_t {              \
    return (EXPRESSION);                                                       \
  }>
#define INTEGER2(EXPRESSION)                                                   \
  Operations::integer2<[](uint64_t a, uint64_t b, unsigned width) -> int64_t { \
    (void)width;                                                               \
    return (EXPRESSION);                                                       \
  }>
#define ENDS(REFERENCE) REFERENCE
#define WHOLE(REFERENCE) Operations::anyInteger
#define CODE(REFERENCE) Operations::special(scalar)
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
  .Case([](OP scalar) -> Body::Run { return RANGE(REFERENCE); })
  return TypeSwitch<Operation *, Body::Run>(op)
#include "dialect/ScalarOps.def"
      .Default(nullptr);
#undef FLOAT1
#undef FLOAT2
#undef FLOAT3
#undef INTEGER1
#undef INTEGER2
#undef ENDS
#undef WHOLE
#undef CODE
}

Body::Run Body::rangeOfExact(bool isFloat) {
  return isFloat ? RangeOperations::exactFloats
                 : RangeOperations::exactIntegers;
}
Body::Run Body::rangeOfLoad() { return RangeOperations::loadIntegers; }
Body::Run Body::rangeOfStore() { return RangeOperations::storeIntegers; }
Body::Run Body::rangeOfConversion() { return RangeOperations::widenResult; }

} // namespace heddle::reference

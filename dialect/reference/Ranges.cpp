//===- Ranges.cpp - the values of all faithful evaluations ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges are stored in double precision. An end of type f32 is rounded outward.
// An end of type f64 is moved by whole units in the last place, because its
// computation was rounded, too.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Ranges.h"
#include "dialect/reference/Rounding.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace heddle::reference {

Range everyValue(Type type) {
  if (isa<FloatType>(type))
    return Range::anything();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return {0, 1};
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  return {-limit, width > 53 ? limit : limit - 1};
}

double unitRoundoff(Type type) { return type.isF64() ? 0x1p-53 : 0x1p-24; }

/// The float below `x` (above, if `Up`), for finite `x`.
template <bool Up> static float neighbor(float x) {
  auto bits = llvm::bit_cast<int32_t>(x);
  if (x == 0)
    return Up ? 0x1p-149f : -0x1p-149f;
  return llvm::bit_cast<float>((x > 0) == Up ? bits + 1 : bits - 1);
}

/// `x` as a float, rounded down (up). If `x` overflows, it is an infinity in
/// every evaluation.
template <bool Up> static double toSingle(double x) {
  auto nearest = static_cast<float>(x);
  bool inside = Up ? nearest < x : nearest > x;
  return inside && std::isfinite(nearest) ? neighbor<Up>(nearest) : nearest;
}

/// `x`, moved by `ulps` units in the last place of a type. An error is relative
/// (of small numbers, absolute), so the sign stays.
template <bool Up>
static double move(double x, double ulps, double unit, double smallest) {
  if (x == 0 || !std::isfinite(x))
    return x;
  double distance = ulps * (std::fabs(x) * unit + smallest);
  double moved = Up ? x + distance : x - distance;
  return (moved < 0) == (x < 0) ? moved : std::copysign(0.0, x);
}

template <bool Up>
static void moveSingle(double ulps, double *ends, int64_t count) {
  if (ulps > 1)
    for (int64_t k = 0; k < count; ++k)
      ends[k] = move<Up>(ends[k], ulps, 0x1p-23, 0x1p-149);
  for (int64_t k = 0; k < count; ++k)
    ends[k] = toSingle<Up>(ends[k]);
}

template <bool Up>
static void moveDouble(double ulps, double *ends, int64_t count) {
  double own = ulps > 1 ? ulps + 1 : ulps; // one for the error of the end
  for (int64_t k = 0; k < count; ++k)
    ends[k] = move<Up>(ends[k], own, 0x1p-52, 0x1p-1074);
}

void widen(Type type, double ulps, double *values, double *low, double *high,
           int64_t count) {
  if (type.isF32()) {
    moveSingle<false>(ulps, low, count);
    moveSingle<true>(ulps, high, count);
    for (int64_t k = 0; k < count; ++k)
      if (std::isinf(static_cast<float>(values[k])))
        values[k] = static_cast<float>(values[k]);
    return;
  }
  if (type.isF64()) {
    if (ulps > 0) {
      moveDouble<false>(ulps, low, count);
      moveDouble<true>(ulps, high, count);
    }
    return;
  }
  roundAll(type, low, count);
  roundAll(type, high, count);
}

Range widen(Type type, double ulps, Range range) {
  double value = 0;
  widen(type, ulps, &value, &range.low, &range.high, 1);
  return range;
}

} // namespace heddle::reference

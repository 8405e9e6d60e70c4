//===- Rounding.cpp - doubles rounded to storage types --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A double is rounded to 16 bits directly, because by way of a float it would
// be rounded twice.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Rounding.h"
#include "dialect/reference/Interpreter.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::reference {

namespace {
/// A binary floating-point format narrower than double.
struct Format {
  int digits;      // of the significand, the leading one included
  int minExponent; // of the smallest normal number
  double largest;
};
} // namespace

static constexpr Format kHalf = {11, -14, 65504.0};
static constexpr Format kBFloat = {8, -126, 0x1.FEp127};

static double roundTo(Format format, double value) {
  if (!std::isfinite(value) || value == 0)
    return value;
  if (std::fabs(value) < std::ldexp(1.0, format.minExponent)) {
    double quantum = std::ldexp(1.0, format.minExponent - format.digits + 1);
    return std::copysign(std::nearbyint(value / quantum) * quantum, value);
  }
  // Adds half of the dropped part; a carry propagates into the exponent.
  auto bits = llvm::bit_cast<uint64_t>(value);
  int dropped = 53 - format.digits;
  uint64_t odd = (bits >> dropped) & 1;
  bits += (uint64_t(1) << (dropped - 1)) - 1 + odd;
  bits &= ~((uint64_t(1) << dropped) - 1);
  double rounded = llvm::bit_cast<double>(bits);
  if (std::fabs(rounded) > format.largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

void roundAll(Type type, double *values, int64_t count) {
  if (type.isF64())
    return;
  if (type.isF32()) {
    for (int64_t k = 0; k < count; ++k)
      values[k] = static_cast<float>(values[k]);
    return;
  }
  if (isa<FloatType>(type)) {
    const Format &format = type.isF16() ? kHalf : kBFloat;
    for (int64_t k = 0; k < count; ++k)
      values[k] = roundTo(format, values[k]);
    return;
  }
  unsigned width = type.getIntOrFloatBitWidth();
  for (int64_t k = 0; k < count; ++k)
    values[k] = static_cast<double>(wrap(integerFrom(values[k]), width));
}

double roundTo(Type type, double value) {
  roundAll(type, &value, 1);
  return value;
}

} // namespace heddle::reference

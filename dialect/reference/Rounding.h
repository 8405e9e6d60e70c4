//===- Rounding.h - doubles rounded to storage types ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Doubles are rounded to f32, f16 and bf16 once, to the nearest with ties to
// even. Integers wrap to their width.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_ROUNDING_H
#define HEDDLE_DIALECT_REFERENCE_ROUNDING_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <limits>

namespace heddle::reference {

/// The low `width` bits of `value`, sign-extended; flags are 0 or 1.
inline int64_t wrap(int64_t value, unsigned width) {
  if (width >= 64)
    return value;
  if (width == 1)
    return value & 1;
  auto bits = static_cast<uint64_t>(value) << (64 - width);
  return static_cast<int64_t>(bits) >> (64 - width);
}

/// The integer that a list stores as the double `value`. The largest 64-bit
/// integer is not a double; 2^63 stands for it.
inline int64_t integerFrom(double value) {
  return value < 0x1p63 ? static_cast<int64_t>(value)
                        : std::numeric_limits<int64_t>::max();
}

/// Rounds `count` values to elements of `type`.
void roundAll(mlir::Type type, double *values, int64_t count);

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_ROUNDING_H

//===- ScalarFunctions.h - functions of the column REFERENCE ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar functions that expressions of dialect/ScalarOps.def call, on
// doubles and sign-extended integers.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_SCALARFUNCTIONS_H
#define HEDDLE_DIALECT_REFERENCE_SCALARFUNCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle::reference {

inline double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

inline double minimum(double a, double b) { return -maximum(-a, -b); }

/// If one number is NaN, the other. -0 is smaller than +0.
inline double maxnum(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b);
}
inline double minnum(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b);
}

inline double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }

inline int64_t toInteger(double a, unsigned width) {
  if (std::isnan(a))
    return 0;
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  if (a >= limit)
    return width >= 64 ? std::numeric_limits<int64_t>::max()
                       : (int64_t(1) << (width - 1)) - 1;
  if (a < -limit)
    return width >= 64 ? std::numeric_limits<int64_t>::min()
                       : -(int64_t(1) << (width - 1));
  return static_cast<int64_t>(a);
}

/// As above, for an unsigned result.
inline int64_t toUnsigned(double a, unsigned width) {
  if (!(a > 0))
    return 0;
  double limit = std::ldexp(1.0, static_cast<int>(width));
  if (a >= limit)
    return width >= 64 ? -1 : static_cast<int64_t>((uint64_t(1) << width) - 1);
  return static_cast<int64_t>(static_cast<uint64_t>(a));
}

/// The operand of signed arithmetic: a set flag is -1.
inline int64_t signedView(int64_t a, unsigned width) {
  return width == 1 ? -a : a;
}

inline uint64_t unsignedView(int64_t a, unsigned width) {
  auto bits = static_cast<uint64_t>(a);
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

/// The quotient, rounded towards 0; 0 of a divisor 0. The quotient of the
/// smallest number and -1 wraps.
inline uint64_t divide(int64_t a, int64_t b) {
  if (b == -1)
    return 0 - static_cast<uint64_t>(a);
  return b == 0 ? 0 : static_cast<uint64_t>(a / b);
}
inline uint64_t divide(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }

/// Whether a shift by `count`, an unsigned number, shifts out all bits.
inline bool beyond(uint64_t count, unsigned width) {
  return unsignedView(static_cast<int64_t>(count), width) >= width;
}

inline bool compare(mlir::arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case mlir::arith::CmpFPredicate::AlwaysFalse:
    return false;
  case mlir::arith::CmpFPredicate::OEQ:
    return a == b;
  case mlir::arith::CmpFPredicate::OGT:
    return a > b;
  case mlir::arith::CmpFPredicate::OGE:
    return a >= b;
  case mlir::arith::CmpFPredicate::OLT:
    return a < b;
  case mlir::arith::CmpFPredicate::OLE:
    return a <= b;
  case mlir::arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case mlir::arith::CmpFPredicate::ORD:
    return !unordered;
  case mlir::arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case mlir::arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case mlir::arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case mlir::arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case mlir::arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case mlir::arith::CmpFPredicate::UNE:
    return a != b;
  case mlir::arith::CmpFPredicate::UNO:
    return unordered;
  case mlir::arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  llvm_unreachable("all predicates are handled");
}

/// The bits of a float of 32 or 64 bits, and the float with these bits.
inline int64_t bitsOf(double a, unsigned width) {
  return width == 32 ? int64_t(llvm::bit_cast<int32_t>(static_cast<float>(a)))
                     : llvm::bit_cast<int64_t>(a);
}
inline double floatOf(int64_t bits, unsigned width) {
  return width == 32 ? llvm::bit_cast<float>(static_cast<int32_t>(bits))
                     : llvm::bit_cast<double>(bits);
}

/// The halves of a float; see foreach.high, foreach.low and foreach.join.
inline double highOf(double a) {
  if (std::isnan(a))
    return a;
  return floatOf((bitsOf(a, 32) + 0x8000) & ~int64_t(0xffff), 32);
}
inline int64_t lowOf(double a) {
  return std::isnan(a) ? 0 : static_cast<int16_t>(bitsOf(a, 32));
}
inline double joinOf(double high, int64_t low) {
  if (high == 0)
    low = std::max<int64_t>(low, 0);
  return floatOf(bitsOf(high, 32) + low, 32);
}

/// Number `position` of `width` bits after the beginning of `block`; see
/// foreach.random.
inline int64_t randomAt(uint64_t seed, uint64_t stream, uint64_t block,
                        uint64_t position, unsigned width) {
  unsigned perBlock = 128 / width;
  block += position / perBlock;
  uint32_t key[] = {uint32_t(seed), uint32_t(seed >> 32)};
  uint32_t word[] = {uint32_t(block), uint32_t(block >> 32), uint32_t(stream),
                     uint32_t(stream >> 32)};
  for (int round = 0; round < 7; ++round) {
    uint64_t first = uint64_t(0xd2511f53) * word[0];
    uint64_t second = uint64_t(0xcd9e8d57) * word[2];
    uint32_t mixed[] = {
        uint32_t(second >> 32) ^ word[1] ^ key[0], uint32_t(second),
        uint32_t(first >> 32) ^ word[3] ^ key[1], uint32_t(first)};
    std::copy(mixed, mixed + 4, word);
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  unsigned bit = position % perBlock * width;
  return word[bit / 32] >> bit % 32;
}

/// The neighbour of `a` in bf16 or f16 that the unsigned number `bits` of 16
/// bits selects; see foreach.round. Monotone in both operands' magnitudes.
inline double roundedAtRandom(double a, int64_t bits, bool toBrain) {
  auto x = static_cast<float>(a);
  auto by = static_cast<uint16_t>(bits);
  if (std::isnan(x) || std::isinf(x))
    return x;
  // Units of the last place, and 2^16 parts of them.
  int exponent = x == 0 ? -126 : std::max(std::ilogb(x), toBrain ? -126 : -14);
  int unit = exponent - (toBrain ? 7 : 10);
  double parts = std::floor(std::ldexp(std::fabs(x), 16 - unit));
  double rounded = std::ldexp(std::floor((parts + by) / 65536), unit);
  if (rounded >= (toBrain ? 0x1p128 : 0x1p16))
    rounded = std::numeric_limits<double>::infinity();
  return std::copysign(rounded, x);
}

inline bool compare(mlir::arith::CmpIPredicate predicate, int64_t a, int64_t b,
                    unsigned width) {
  int64_t sa = signedView(a, width), sb = signedView(b, width);
  uint64_t ua = unsignedView(a, width), ub = unsignedView(b, width);
  switch (predicate) {
  case mlir::arith::CmpIPredicate::eq:
    return a == b;
  case mlir::arith::CmpIPredicate::ne:
    return a != b;
  case mlir::arith::CmpIPredicate::slt:
    return sa < sb;
  case mlir::arith::CmpIPredicate::sle:
    return sa <= sb;
  case mlir::arith::CmpIPredicate::sgt:
    return sa > sb;
  case mlir::arith::CmpIPredicate::sge:
    return sa >= sb;
  case mlir::arith::CmpIPredicate::ult:
    return ua < ub;
  case mlir::arith::CmpIPredicate::ule:
    return ua <= ub;
  case mlir::arith::CmpIPredicate::ugt:
    return ua > ub;
  case mlir::arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  llvm_unreachable("all predicates are handled");
}

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_SCALARFUNCTIONS_H

//===- RunData.cpp - generation, storage and loading of elements ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash of (seed, list, element) yields four 16-bit numbers. Their sum is
// close to normally distributed and needs no logarithm.
//
//===----------------------------------------------------------------------===//

#include "RunData.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace heddle::runtime;

namespace heddle::cli {

/// The finaliser of splitmix64.
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

void makeElements(const Contents &contents, uint64_t seed, uint64_t list,
                  int64_t first, int64_t count, double *to) {
  if (contents.kind == Contents::constant)
    return void(std::fill(to, to + count, contents.value));
  uint64_t key = mix(seed + 0x9e3779b97f4a7c15ull) ^ mix(list + 1);
  // The sum of four uniform integers in [0, 65535] has mean 2 * 65535 and
  // variance (2^32 - 1) / 3.
  double scale = contents.value / std::sqrt((4294967296.0 - 1) / 3);
  for (int64_t k = 0; k < count; ++k) {
    uint64_t bits =
        mix(key + static_cast<uint64_t>(first + k) * 0x9e3779b97f4a7c15ull);
    int64_t sum = static_cast<int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                       (bits >> 32 & 0xffff) + (bits >> 48));
    to[k] = static_cast<double>(sum - 2 * 65535) * scale;
  }
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

/// Returns the nearest value with `mantissa` fraction bits and an exponent of
/// at least `least`; ties go to even.
static double roundTo(double value, int mantissa, int least) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), least);
  double unit = std::ldexp(1.0, exponent - mantissa);
  return std::nearbyint(value / unit) * unit;
}

static uint16_t toHalf(double value) {
  double rounded = roundTo(value, 10, -14);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(rounded);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65536)
    return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14))
    return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24));
  int exponent = std::ilogb(magnitude);
  auto fraction =
      static_cast<uint16_t>(std::ldexp(magnitude, 10 - exponent) - 1024);
  return sign | static_cast<uint16_t>((exponent + 15) << 10) | fraction;
}

static double fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = exponent == 31 ? (fraction ? std::nan("") : HUGE_VAL)
                     : exponent == 0
                         ? std::ldexp(fraction, -24)
                         : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t toBrain(double value) {
  // roundTo() rounds to bfloat16; the conversion to float is then exact.
  auto bits =
      std::bit_cast<uint32_t>(static_cast<float>(roundTo(value, 7, -126)));
  return std::isnan(value) ? 0x7fc0 : static_cast<uint16_t>(bits >> 16);
}

static double fromBrain(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

template <typename T, typename Convert>
static void store(const double *from, int64_t count, char *to,
                  Convert convert) {
  for (int64_t k = 0; k < count; ++k) {
    T element = convert(from[k]);
    std::memcpy(to + k * sizeof(T), &element, sizeof(T));
  }
}

template <typename T, typename Convert>
static void load(const char *from, int64_t count, double *to, Convert convert) {
  for (int64_t k = 0; k < count; ++k) {
    T element;
    std::memcpy(&element, from + k * sizeof(T), sizeof(T));
    to[k] = convert(element);
  }
}

void storeElements(DType dtype, const double *from, int64_t count, char *to) {
  auto plain = [](auto type) {
    return [](double value) { return static_cast<decltype(type)>(value); };
  };
  switch (dtype) {
  case DType::F64:
    return store<double>(from, count, to, plain(double()));
  case DType::F32:
    return store<float>(from, count, to, plain(float()));
  case DType::F16:
    return store<uint16_t>(from, count, to, toHalf);
  case DType::BF16:
    return store<uint16_t>(from, count, to, toBrain);
  case DType::I1:
    return store<uint8_t>(from, count, to,
                          [](double value) { return uint8_t(value != 0); });
  case DType::I8:
    return store<int8_t>(from, count, to, plain(int8_t()));
  case DType::I16:
    return store<int16_t>(from, count, to, plain(int16_t()));
  case DType::I32:
    return store<int32_t>(from, count, to, plain(int32_t()));
  case DType::I64:
    return store<int64_t>(from, count, to, plain(int64_t()));
  }
}

void loadElements(DType dtype, const char *from, int64_t count, double *to) {
  auto plain = [](auto value) { return static_cast<double>(value); };
  switch (dtype) {
  case DType::F64:
    return load<double>(from, count, to, plain);
  case DType::F32:
    return load<float>(from, count, to, plain);
  case DType::F16:
    return load<uint16_t>(from, count, to, fromHalf);
  case DType::BF16:
    return load<uint16_t>(from, count, to, fromBrain);
  case DType::I1:
    return load<uint8_t>(from, count, to, plain);
  case DType::I8:
    return load<int8_t>(from, count, to, plain);
  case DType::I16:
    return load<int16_t>(from, count, to, plain);
  case DType::I32:
    return load<int32_t>(from, count, to, plain);
  case DType::I64:
    return load<int64_t>(from, count, to, plain);
  }
}

double unitInLastPlace(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 0x1p-52;
  case DType::F32:
    return 0x1p-23;
  case DType::F16:
    return 0x1p-10;
  case DType::BF16:
    return 0x1p-7;
  default:
    return 0;
  }
}

double smallestNormal(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 0x1p-1022;
  case DType::F32:
  case DType::BF16:
    return 0x1p-126;
  case DType::F16:
    return 0x1p-14;
  default:
    return 0;
  }
}

} // namespace heddle::cli

//===- RunData.cpp - generation, storage and loading of elements ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash of (seed, list, element) yields 64 bits. The sum of four 16-bit
// numbers is close to normally distributed and needs no logarithm.
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

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

static uint64_t bitsAt(uint64_t key, int64_t position) {
  return mix(key + static_cast<uint64_t>(position) * kGolden);
}

static double normalAt(uint64_t key, int64_t position) {
  uint64_t bits = bitsAt(key, position);
  int64_t sum = static_cast<int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                     (bits >> 32 & 0xffff) + (bits >> 48));
  // The sum of four uniform integers in [0, 65535] has mean 2 * 65535 and
  // variance (2^32 - 1) / 3.
  static const double deviation = std::sqrt((4294967296.0 - 1) / 3);
  return static_cast<double>(sum - 2 * 65535) / deviation;
}

/// Strictly between 0 and 1.
static double uniformAt(uint64_t key, int64_t position) {
  return (static_cast<double>(bitsAt(key, position) >> 12) + 0.5) * 0x1p-52;
}

//===----------------------------------------------------------------------===//
// Kinds of contents
//===----------------------------------------------------------------------===//

namespace {
/// The numbers of one member. All functions take the position of an element in
/// the member.
struct Member {
  Member(uint64_t key, const MemberPlace &place)
      : key(key), begin(place.begin),
        columns(place.extents.empty() ? 1 : place.extents.back()) {
    for (int64_t extent : place.extents)
      count *= extent;
    // Kinds that draw several numbers for an element, or fewer than one, have
    // a key for the member.
    own = mix(key ^ mix(begin + kGolden));
  }

  double normal(int64_t k) const { return normalAt(key, begin + k); }
  double uniform(int64_t k) const { return uniformAt(key, begin + k); }

  /// Two neighbours have the sum of two means.
  double weight(int64_t k) const {
    double mean = 1 / static_cast<double>(count);
    int64_t pair = k / 2;
    if (2 * pair + 1 >= count)
      return mean;
    double excess = uniformAt(own, pair) - 0.5;
    return mean * (k % 2 ? 1 - excess : 1 + excess);
  }

  /// A diagonal matrix and a symmetric one, whose norm is about 0.6.
  double spd(int64_t k) const {
    int64_t i = k / columns, j = k % columns;
    if (i == j)
      return 1.5 + 8.5 * uniformAt(own, k);
    double drawn = uniformAt(own, std::min(i, j) * columns + std::max(i, j));
    return (drawn - 0.5) / std::sqrt(static_cast<double>(columns));
  }

  double distance(int64_t k) const {
    int64_t i = k / columns, j = k % columns;
    double sum = 0;
    for (int axis = 0; axis < 2; ++axis) {
      double gap =
          uniformAt(own, 4 * i + axis) - uniformAt(own, 4 * j + axis + 2);
      sum += gap * gap;
    }
    return sum;
  }

  uint64_t key, own;
  int64_t begin, columns, count = 1;
};
} // namespace

void makeElements(const Contents &contents, uint64_t seed,
                  const MemberPlace &place, int64_t first, int64_t count,
                  double *to) {
  uint64_t key = mix(seed + kGolden) ^ mix(place.list + 1);
  Member member(key, place);
  auto fill = [&](auto element) {
    for (int64_t k = 0; k < count; ++k)
      to[k] = element(first + k);
  };
  double factor = contents.value;
  switch (contents.kind) {
  case Contents::constant:
    return fill([&](int64_t) { return factor; });
  case Contents::normal:
    return fill([&](int64_t k) { return factor * member.normal(k); });
  case Contents::uniform:
    return fill([&](int64_t k) { return factor * member.uniform(k); });
  case Contents::weights:
    return fill([&](int64_t k) { return factor * member.weight(k); });
  case Contents::logWeights:
    return fill([&](int64_t k) { return std::log(factor * member.weight(k)); });
  case Contents::spd:
    return fill([&](int64_t k) { return factor * member.spd(k); });
  case Contents::distances:
    return fill([&](int64_t k) { return factor * member.distance(k); });
  }
}

llvm::ArrayRef<ContentsWord> contentsWords() {
  static const ContentsWord words[] = {
      {"normal", {Contents::normal, 1}, "standard deviation 1"},
      {"uniform",
       {Contents::uniform, 1},
       "between 0 and 1, such as points of the unit cube"},
      {"weights",
       {Contents::weights, 1},
       "positive, with a sum of 1 in each member"},
      {"log_weights", {Contents::logWeights, 1}, "the logarithms of weights"},
      {"spd",
       {Contents::spd, 1},
       "symmetric positive definite, eigenvalues of about 1 to 10"},
      {"distances",
       {Contents::distances, 1},
       "squared distances of random points in the unit square"},
      {"constant", {Contents::constant, 1}, "1"}};
  return words;
}

std::string misfit(const Contents &contents, int rank,
                   llvm::ArrayRef<int64_t> extents) {
  bool isSquare = contents.kind == Contents::spd;
  if (!isSquare && contents.kind != Contents::distances)
    return "";
  if (rank != 2)
    return "expected a list of matrices, found one of rank " +
           std::to_string(rank);
  int64_t rows = 1, columns = extents.empty() ? 1 : extents.back();
  for (int64_t extent : extents.drop_back(!extents.empty()))
    rows *= extent;
  if (isSquare && rows != columns)
    return "expected a square matrix, found " + std::to_string(rows) + " x " +
           std::to_string(columns);
  return "";
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

//===- RunDataTest.cpp - generation, storage and loading of elements ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunData.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace heddle::cli;
using heddle::runtime::DType;
using heddle::runtime::dtypeSize;

static uint16_t bitsOf(DType dtype, double value) {
  uint16_t bits = 0;
  storeElements(dtype, &value, 1, reinterpret_cast<char *>(&bits));
  return bits;
}

TEST(RunData, RoundsToHalfOnce) {
  EXPECT_EQ(bitsOf(DType::F16, 1.0), 0x3c00);
  EXPECT_EQ(bitsOf(DType::F16, -2.5), 0xc100);
  EXPECT_EQ(bitsOf(DType::F16, 1.0 + 0x1p-11), 0x3c00);           // tie to even
  EXPECT_EQ(bitsOf(DType::F16, 1.0 + 0x1p-11 + 0x1p-40), 0x3c01); // above it
  EXPECT_EQ(bitsOf(DType::F16, 65504), 0x7bff);
  EXPECT_EQ(bitsOf(DType::F16, 65519.99), 0x7bff);
  EXPECT_EQ(bitsOf(DType::F16, 65520), 0x7c00);
  EXPECT_EQ(bitsOf(DType::F16, 0x1p-24), 0x0001);
  EXPECT_EQ(bitsOf(DType::F16, 0x1p-25), 0x0000);
  EXPECT_EQ(bitsOf(DType::F16, -0.0), 0x8000);
}

TEST(RunData, RoundsToBfloatOnce) {
  EXPECT_EQ(bitsOf(DType::BF16, 1.0), 0x3f80);
  EXPECT_EQ(bitsOf(DType::BF16, 1.0 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bitsOf(DType::BF16, 1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(bitsOf(DType::BF16, -1.0 - 0x3p-8), 0xbf82);
  EXPECT_EQ(bitsOf(DType::BF16, std::numeric_limits<double>::infinity()),
            0x7f80);
}

TEST(RunData, EveryHalfAndBfloatSurvives) {
  for (DType dtype : {DType::F16, DType::BF16})
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      auto stored = static_cast<uint16_t>(bits);
      double value = 0;
      loadElements(dtype, reinterpret_cast<char *>(&stored), 1, &value);
      if (!std::isnan(value))
        ASSERT_EQ(bitsOf(dtype, value), stored);
    }
}

TEST(RunData, IntegersAndFlags) {
  for (DType dtype : {DType::I8, DType::I16, DType::I32, DType::I64}) {
    std::vector<double> values = {0, 1, -1, 100}, back(4);
    std::vector<char> stored(4 * dtypeSize(dtype));
    storeElements(dtype, values.data(), 4, stored.data());
    loadElements(dtype, stored.data(), 4, back.data());
    EXPECT_EQ(values, back);
  }
  double flags[] = {0, 5}, back[2];
  char stored[2];
  storeElements(DType::I1, flags, 2, stored);
  loadElements(DType::I1, stored, 2, back);
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[1], 1);
}

TEST(RunData, ElementsFollowFromTheirPosition) {
  Contents normal{Contents::normal, 2.0};
  std::vector<double> whole(1000), part(100), other(100);
  makeElements(normal, 7, {3}, 0, 1000, whole.data());
  makeElements(normal, 7, {3}, 450, 100, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 450));
  makeElements(normal, 8, {3}, 450, 100, other.data());
  EXPECT_NE(part, other);
  makeElements(normal, 7, {4}, 450, 100, other.data());
  EXPECT_NE(part, other);
}

TEST(RunData, NormalsHaveTheirMeanAndDeviation) {
  std::vector<double> values(1 << 20);
  makeElements({Contents::normal, 2.0}, 0, {0}, 0, values.size(),
               values.data());
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / values.size(), 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / values.size()), 2, 0.01);
}

//===----------------------------------------------------------------------===//
// Kinds of contents
//===----------------------------------------------------------------------===//

/// All elements of a member, generated in two parts.
static std::vector<double> member(Contents contents,
                                  std::vector<int64_t> extents,
                                  int64_t begin = 0, uint64_t seed = 3) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  std::vector<double> values(count);
  MemberPlace place = {5, begin, extents};
  makeElements(contents, seed, place, 0, count / 3, values.data());
  makeElements(contents, seed, place, count / 3, count - count / 3,
               values.data() + count / 3);
  return values;
}

TEST(RunData, WeightsHaveAMassOfOne) {
  for (int64_t count : {1, 2, 3, 100, 1001}) {
    auto weights = member({Contents::weights, 1}, {count});
    auto logarithms = member({Contents::logWeights, 1}, {count});
    double mass = 0;
    for (int64_t k = 0; k < count; ++k) {
      EXPECT_GE(weights[k], 0.5 / count);
      EXPECT_LE(weights[k], 1.5 / count);
      EXPECT_DOUBLE_EQ(std::exp(logarithms[k]), weights[k]);
      mass += weights[k];
    }
    EXPECT_NEAR(mass, 1, 1e-12);
    if (count > 1)
      EXPECT_NE(weights[0], weights[1]);
  }
  EXPECT_NE(member({Contents::weights, 1}, {10}),
            member({Contents::weights, 1}, {10}, /*begin=*/10));
}

TEST(RunData, MatricesArePositiveDefinite) {
  for (int64_t n : {1, 2, 3, 9, 40, 200}) {
    auto a = member({Contents::spd, 1}, {n, n}, 7);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        ASSERT_EQ(a[i * n + j], a[j * n + i]);
    // Cholesky's factorization exists for positive definite matrices only.
    for (int64_t j = 0; j < n; ++j) {
      double pivot = a[j * n + j];
      ASSERT_GT(pivot, 0.5) << n;
      ASSERT_LT(pivot, 10.5) << n;
      for (int64_t i = j + 1; i < n; ++i)
        for (int64_t k = j + 1; k <= i; ++k)
          a[i * n + k] -= a[i * n + j] * a[k * n + j] / pivot;
    }
  }
}

TEST(RunData, DistancesAreThoseOfPointsInThePlane) {
  int64_t rows = 20, columns = 30;
  auto d = member({Contents::distances, 1}, {rows, columns});
  for (double value : d) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 2);
  }
  // Differences of two rows and two columns have the rank of the plane, 2.
  std::vector<double> gram;
  for (int64_t i = 1; i < 4; ++i)
    for (int64_t j = 1; j < 4; ++j)
      gram.push_back(d[i * columns + j] - d[i * columns] - d[j] + d[0]);
  double determinant = gram[0] * (gram[4] * gram[8] - gram[5] * gram[7]) -
                       gram[1] * (gram[3] * gram[8] - gram[5] * gram[6]) +
                       gram[2] * (gram[3] * gram[7] - gram[4] * gram[6]);
  EXPECT_NEAR(determinant, 0, 1e-14);
  EXPECT_GT(std::fabs(gram[0] * gram[4] - gram[1] * gram[3]), 1e-6);
}

TEST(RunData, UniformNumbersFillTheInterval) {
  auto values = member({Contents::uniform, 2}, {10000});
  double sum = 0;
  for (double value : values) {
    ASSERT_GT(value, 0);
    ASSERT_LT(value, 2);
    sum += value;
  }
  EXPECT_NEAR(sum / values.size(), 1, 0.03);
}

TEST(RunData, SaysWhichContentsDoNotFit) {
  EXPECT_EQ(misfit({Contents::spd, 1}, 2, {3, 3}), "");
  EXPECT_EQ(misfit({Contents::spd, 1}, 2, {2, 2, 4}), "");
  EXPECT_EQ(misfit({Contents::spd, 1}, 2, {3, 4}),
            "expected a square matrix, found 3 x 4");
  EXPECT_EQ(misfit({Contents::distances, 1}, 1, {9}),
            "expected a list of matrices, found one of rank 1");
  EXPECT_EQ(misfit({Contents::normal, 1}, 1, {9}), "");
}

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
  makeElements(normal, 7, 3, 0, 1000, whole.data());
  makeElements(normal, 7, 3, 450, 100, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 450));
  makeElements(normal, 8, 3, 450, 100, other.data());
  EXPECT_NE(part, other);
  makeElements(normal, 7, 4, 450, 100, other.data());
  EXPECT_NE(part, other);
}

TEST(RunData, NormalsHaveTheirMeanAndDeviation) {
  std::vector<double> values(1 << 20);
  makeElements({Contents::normal, 2.0}, 0, 0, 0, values.size(), values.data());
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / values.size(), 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / values.size()), 2, 0.01);
}

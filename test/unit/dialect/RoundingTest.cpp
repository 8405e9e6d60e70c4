//===- RoundingTest.cpp - doubles rounded to storage types ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compared with LLVM's arbitrary-precision floats.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "llvm/ADT/bit.h"

#include <cmath>
#include <limits>

using namespace heddle::test;
using heddle::reference::roundTo;

namespace {

void check(Context &context, double x) {
  mlir::Builder builder(context.get());
  mlir::Type types[] = {builder.getF64Type(), builder.getF32Type(),
                        builder.getBF16Type(), builder.getF16Type()};
  for (int k = 0; k < 4; ++k) {
    double found = roundTo(types[k], x);
    double expected = store(static_cast<Storage>(k), x);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(found)) << k;
    else
      EXPECT_EQ(llvm::bit_cast<uint64_t>(found),
                llvm::bit_cast<uint64_t>(expected))
          << x << " as " << nameOfStorage(static_cast<Storage>(k));
  }
}

TEST(Rounding, SpecialValues) {
  Context context;
  for (double x : {0.0,
                   -0.0,
                   1.0,
                   65504.0,
                   65519.9,
                   65520.0,
                   65536.0,
                   6.1e-5,
                   6e-8,
                   2.98023223876953125e-8,
                   2.9e-8,
                   1e-45,
                   7e-46,
                   9.2e-41,
                   4.6e-41,
                   3.4e38,
                   3.39e38,
                   3.3961775e38,
                   3.4028235677973366e38,
                   1e39,
                   1e300,
                   5e-324,
                   (double)INFINITY,
                   (double)NAN}) {
    check(context, x);
    check(context, -x);
  }
}

/// Values half-way between two neighbors, and the values next to these.
TEST(Rounding, Ties) {
  Context context;
  for (int exponent :
       {-160, -140, -130, -126, -24, -20, -15, -14, -1, 0, 3, 15, 100, 127})
    for (int digits : {8, 9, 11, 12, 24, 25})
      for (int odd = 1; odd < 8; odd += 2) {
        double tie = std::ldexp(1 + odd * std::ldexp(1.0, -digits), exponent);
        check(context, tie);
        check(context, std::nextafter(tie, 0));
        check(context, std::nextafter(tie, INFINITY));
      }
}

TEST(Rounding, AnyBits) {
  Context context;
  std::mt19937_64 random(1);
  for (int k = 0; k < 100000; ++k)
    check(context, llvm::bit_cast<double>(random()));
  std::normal_distribution<double> normal;
  for (int k = 0; k < 100000; ++k)
    check(context, std::ldexp(normal(random), int(random() % 60) - 40));
}

TEST(Rounding, Integers) {
  Context context;
  mlir::Builder builder(context.get());
  EXPECT_EQ(roundTo(builder.getI8Type(), 130), -126);
  EXPECT_EQ(roundTo(builder.getI8Type(), -129), 127);
  EXPECT_EQ(roundTo(builder.getI1Type(), 3), 1);
  EXPECT_EQ(roundTo(builder.getI64Type(), -5), -5);
  EXPECT_EQ(roundTo(builder.getI32Type(), 2147483648.0), -2147483648.0);
}

} // namespace

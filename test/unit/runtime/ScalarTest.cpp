//===- ScalarTest.cpp - scalars as bytes ----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/plan/Scalar.h"

#include <cmath>

using namespace heddle::runtime;
using namespace llvm;

namespace {

TEST(Scalar, FillsRepeatTheirElement) {
  EXPECT_EQ(fillPattern(DType::F32, INFINITY), 0x7f8000007f800000u);
  EXPECT_EQ(fillPattern(DType::F64, INFINITY), 0x7ff0000000000000u);
  EXPECT_EQ(fillPattern(DType::BF16, -INFINITY), 0xff80ff80ff80ff80u);
  EXPECT_EQ(fillPattern(DType::I1, 1), 0x0101010101010101u);
  EXPECT_EQ(fillPattern(DType::I16, -2), 0xfffefffefffefffeu);
  EXPECT_EQ(fillPattern(DType::F16, 0), 0u);
}

TEST(Scalar, EncodesEveryDType) {
  ScalarBytes bytes;
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16,
                      DType::I8, DType::I16, DType::I32, DType::I64})
    for (double value : {0.0, 1.0, -2.0, 100.0}) {
      ASSERT_TRUE(succeeded(encodeScalar(dtype, value, bytes)));
      EXPECT_EQ(decodeScalar(dtype, bytes.data()), value)
          << dtypeName(dtype).str();
    }
  // A tie rounds to even.
  ASSERT_TRUE(succeeded(encodeScalar(DType::BF16, 1 + 1.0 / 256, bytes)));
  EXPECT_EQ(decodeScalar(DType::BF16, bytes.data()), 1.0);
  ASSERT_TRUE(succeeded(encodeScalar(DType::F16, 1e6, bytes)));
  EXPECT_TRUE(std::isinf(decodeScalar(DType::F16, bytes.data())));
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I8, 200, bytes), StatusCode::BadInput),
      "expected an integer of i8");
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I32, 0.5, bytes), StatusCode::BadInput),
      "expected an integer of i32");
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I64, NAN, bytes), StatusCode::BadInput),
      "expected an integer of i64");
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I1, 2, bytes), StatusCode::BadInput),
      "expected 0 or 1");
}

} // namespace

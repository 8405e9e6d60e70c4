//===- StoredBits.cpp - floats in lists of 16 bits ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/StoredBits.h"
#include "dialect/Foreach.h"

using namespace mlir;

namespace heddle::library {

static Scalar integer(Scalar like, int64_t number, Type type, StringRef name) {
  OpBuilder &builder = like.getBuilder();
  Value made = arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                         builder.getIntegerAttr(type, number));
  return Scalar(builder, made).as(name);
}

template <typename OpTy> static Scalar converted(Scalar a, Type type) {
  OpBuilder &builder = a.getBuilder();
  return {builder,
          OpTy::create(builder, builder.getUnknownLoc(), type, a.getValue())};
}

Halves split(Scalar number) {
  OpBuilder &builder = number.getBuilder();
  Scalar high(builder, foreach::HighOp::create(builder, builder.getUnknownLoc(),
                                               number.getValue()));
  Scalar low(builder, foreach::LowOp::create(builder, builder.getUnknownLoc(),
                                             number.getValue()));
  return {high.as("high"), low.as("low")};
}

Scalar joined(Halves halves) {
  OpBuilder &builder = halves.high.getBuilder();
  return {builder, foreach::JoinOp::create(builder, builder.getUnknownLoc(),
                                           halves.high.getValue(),
                                           halves.low.getValue())};
}

Scalar position(Scalar like) {
  OpBuilder &builder = like.getBuilder();
  return {builder, foreach::IndexOp::create(builder, builder.getUnknownLoc(),
                                            foreach::Axis::member)};
}

Scalar randomBits(Scalar seed, Scalar stream, Scalar block, Scalar position) {
  OpBuilder &builder = seed.getBuilder();
  return {builder, foreach::RandomOp::create(
                       builder, builder.getUnknownLoc(), builder.getI16Type(),
                       seed.getValue(), stream.getValue(), block.getValue(),
                       position.getValue())};
}

Scalar roundedAtRandom(Scalar number, Scalar bits, Type to) {
  OpBuilder &builder = number.getBuilder();
  if (number.getType().isF64())
    number =
        converted<arith::TruncFOp>(number, builder.getF32Type()).as("single");
  return {builder,
          foreach::RoundOp::create(builder, builder.getUnknownLoc(),
                                   number.getValue(), bits.getValue(), to)};
}

Scalar streamOf(Scalar steps, int64_t draw) {
  Type i64 = steps.getBuilder().getI64Type();
  Scalar t = converted<arith::FPToSIOp>(steps, i64).as("t");
  return draw == 0 ? t : t + integer(steps, draw << 32, i64, "draw");
}

} // namespace heddle::library

//===- Expression.cpp - scalar formulas as operations ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for every operator that the standard programs use.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Expression.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::library {

Scalar Scalar::as(StringRef name) const {
  setName(value, name);
  return *this;
}

Scalar Scalar::constant(double number, StringRef name) const {
  Value made =
      arith::ConstantOp::create(*builder, builder->getUnknownLoc(),
                                builder->getFloatAttr(value.getType(), number));
  return Scalar(*builder, made).as(name);
}

template <typename OpTy> static Scalar unary(Scalar a) {
  OpBuilder &builder = a.getBuilder();
  return {builder,
          OpTy::create(builder, builder.getUnknownLoc(), a.getValue())};
}

template <typename OpTy> static Scalar binary(Scalar a, Scalar b) {
  OpBuilder &builder = a.getBuilder();
  return {builder, OpTy::create(builder, builder.getUnknownLoc(), a.getValue(),
                                b.getValue())};
}

Scalar operator+(Scalar a, Scalar b) {
  return isa<FloatType>(a.getType()) ? binary<arith::AddFOp>(a, b)
                                     : binary<arith::AddIOp>(a, b);
}
Scalar operator-(Scalar a, Scalar b) { return binary<arith::SubFOp>(a, b); }
Scalar operator*(Scalar a, Scalar b) { return binary<arith::MulFOp>(a, b); }
Scalar operator/(Scalar a, Scalar b) { return binary<arith::DivFOp>(a, b); }
Scalar operator-(Scalar a) { return unary<arith::NegFOp>(a); }

Scalar sqrt(Scalar a) { return unary<math::SqrtOp>(a); }
Scalar rsqrt(Scalar a) { return unary<math::RsqrtOp>(a); }
Scalar exp(Scalar a) { return unary<math::ExpOp>(a); }
Scalar expm1(Scalar a) { return unary<math::ExpM1Op>(a); }
Scalar log(Scalar a) { return unary<math::LogOp>(a); }
Scalar log1p(Scalar a) { return unary<math::Log1pOp>(a); }
Scalar tanh(Scalar a) { return unary<math::TanhOp>(a); }
Scalar abs(Scalar a) { return unary<math::AbsFOp>(a); }
Scalar sign(Scalar a) { return unary<foreach::SignOp>(a); }
Scalar floor(Scalar a) { return unary<math::FloorOp>(a); }
Scalar ceil(Scalar a) { return unary<math::CeilOp>(a); }
Scalar maximum(Scalar a, Scalar b) { return binary<arith::MaximumFOp>(a, b); }
Scalar minimum(Scalar a, Scalar b) { return binary<arith::MinimumFOp>(a, b); }
Scalar copysign(Scalar a, Scalar b) { return binary<math::CopySignOp>(a, b); }
Scalar pow(Scalar base, Scalar exponent) {
  return binary<math::PowFOp>(base, exponent);
}
Scalar power(Scalar base, Scalar exponent) {
  return binary<math::FPowIOp>(base, exponent);
}

Scalar toInteger(Scalar a) {
  OpBuilder &builder = a.getBuilder();
  return {builder, arith::FPToSIOp::create(builder, builder.getUnknownLoc(),
                                           builder.getI32Type(), a.getValue())};
}

Scalar single(Scalar a) {
  OpBuilder &builder = a.getBuilder();
  if (!a.getType().isF64())
    return a;
  Scalar rounded(builder,
                 arith::TruncFOp::create(builder, builder.getUnknownLoc(),
                                         builder.getF32Type(), a.getValue()));
  return widen(rounded.as("rounded"), a.getType());
}

Scalar widen(Scalar a, Type type) {
  OpBuilder &builder = a.getBuilder();
  return {builder, arith::ExtFOp::create(builder, builder.getUnknownLoc(), type,
                                         a.getValue())};
}

static Scalar compare(arith::CmpFPredicate predicate, Scalar a, Scalar b) {
  OpBuilder &builder = a.getBuilder();
  return {builder,
          arith::CmpFOp::create(builder, builder.getUnknownLoc(), predicate,
                                a.getValue(), b.getValue())};
}

Scalar equal(Scalar a, Scalar b) {
  OpBuilder &builder = a.getBuilder();
  if (isa<IntegerType>(a.getType()))
    return {builder, arith::CmpIOp::create(builder, builder.getUnknownLoc(),
                                           arith::CmpIPredicate::eq,
                                           a.getValue(), b.getValue())};
  return compare(arith::CmpFPredicate::OEQ, a, b);
}
Scalar unequal(Scalar a, Scalar b) {
  return compare(arith::CmpFPredicate::UNE, a, b);
}
Scalar less(Scalar a, Scalar b) {
  return compare(arith::CmpFPredicate::OLT, a, b);
}
Scalar atMost(Scalar a, Scalar b) {
  return compare(arith::CmpFPredicate::OLE, a, b);
}
Scalar isNaN(Scalar a) { return compare(arith::CmpFPredicate::UNO, a, a); }

Scalar isFinite(Scalar a) { return unary<math::IsFiniteOp>(a); }

Scalar iteration(Scalar like) {
  OpBuilder &builder = like.getBuilder();
  return {builder,
          foreach::IterationOp::create(builder, builder.getUnknownLoc())};
}

Scalar integer(Scalar like, int32_t number, StringRef name) {
  OpBuilder &builder = like.getBuilder();
  Value made = arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                         builder.getI32IntegerAttr(number));
  return Scalar(builder, made).as(name);
}

Scalar operator!(Scalar flag) {
  OpBuilder &builder = flag.getBuilder();
  Value yes = arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                        builder.getBoolAttr(true));
  return binary<arith::XOrIOp>(flag, Scalar(builder, yes).as("yes"));
}
Scalar operator&(Scalar a, Scalar b) { return binary<arith::AndIOp>(a, b); }
Scalar operator|(Scalar a, Scalar b) { return binary<arith::OrIOp>(a, b); }

Scalar select(Scalar flag, Scalar yes, Scalar no) {
  OpBuilder &builder = flag.getBuilder();
  return {builder, arith::SelectOp::create(builder, builder.getUnknownLoc(),
                                           flag.getValue(), yes.getValue(),
                                           no.getValue())};
}

} // namespace heddle::library

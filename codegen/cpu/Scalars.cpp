//===- Scalars.cpp - scalar operations as LLVM IR -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the instructions in the column LLVM of dialect/ScalarOps.def. No
// operation carries fast-math flags: the code computes the expression as
// written, and gives the same bits as the device wherever the arithmetic is the
// same.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Scalars.h"
#include "codegen/cpu/Storage.h"
#include "dialect/Foreach.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using LValue = llvm::Value *;
namespace Intrinsic = llvm::Intrinsic;

namespace heddle::cpu {

namespace {
class Emitter {
public:
  Emitter(Ir &ir, Operation *op,
          llvm::function_ref<LValue(mlir::Value)> operand)
      : ir(ir), b(ir.b), op(op), operand(operand) {}

  LValue emit() const;

private:
  LValue at(unsigned k) const { return operand(op->getOperand(k)); }
  llvm::Type *resultType() const {
    return ir.typeOf(op->getResult(0).getType());
  }
  LValue intrinsic(Intrinsic::ID id) const {
    SmallVector<LValue> arguments;
    for (mlir::Value value : op->getOperands())
      arguments.push_back(operand(value));
    return b.CreateIntrinsic(id, {resultType()}, arguments);
  }
  LValue library(llvm::StringRef name) const;
  LValue constant(Attribute value) const;

  // Operations with CODE in the column LLVM of the table.
  LValue special(arith::AddFOp add) const;
  LValue special(arith::MaxNumFOp) const {
    return numberOf(intrinsic(Intrinsic::maximum));
  }
  LValue special(arith::MinNumFOp) const {
    return numberOf(intrinsic(Intrinsic::minimum));
  }
  LValue numberOf(LValue extremum) const;
  LValue special(math::FPowIOp) const;
  LValue special(math::RsqrtOp) const;
  LValue special(foreach::SignOp) const;
  LValue special(math::IsNaNOp) const;
  LValue special(math::IsInfOp) const;
  LValue special(math::IsFiniteOp) const;
  LValue special(arith::CmpFOp op) const;
  LValue special(arith::CmpIOp op) const;
  LValue special(math::AbsIOp) const;
  LValue special(arith::ExtFOp op) const;
  LValue special(arith::TruncFOp op) const;
  LValue special(arith::FPToSIOp) const;
  LValue special(arith::FPToUIOp) const;
  LValue special(arith::DivSIOp) const { return divide(true, true); }
  LValue special(arith::DivUIOp) const { return divide(false, true); }
  LValue special(arith::RemSIOp) const { return divide(true, false); }
  LValue special(arith::RemUIOp) const { return divide(false, false); }
  LValue special(arith::ShLIOp) const;
  LValue special(arith::ShRSIOp) const;
  LValue special(arith::ShRUIOp) const;
  LValue special(foreach::HighOp) const;
  LValue special(foreach::LowOp) const;
  LValue special(foreach::JoinOp) const;
  LValue special(foreach::RandomOp) const;
  LValue special(foreach::RoundOp op) const;
  LValue divide(bool isSigned, bool wantsQuotient) const;
  LValue isWithin(LValue count) const;

  Ir &ir;
  llvm::IRBuilder<> &b;
  Operation *op;
  llvm::function_ref<LValue(mlir::Value)> operand;
};
} // namespace

/// Calls a function of libm that has no intrinsic.
LValue Emitter::library(llvm::StringRef name) const {
  llvm::Type *type = resultType();
  SmallVector<LValue> arguments;
  for (mlir::Value value : op->getOperands())
    arguments.push_back(operand(value));
  SmallVector<llvm::Type *> types(arguments.size(), type);
  llvm::FunctionCallee callee = ir.module.getOrInsertFunction(
      type->isDoubleTy() ? name.str() : name.str() + "f",
      llvm::FunctionType::get(type, types, /*isVarArg=*/false));
  auto *function = cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return b.CreateCall(callee, arguments);
}

LValue Emitter::constant(Attribute value) const {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    Type type = number.getType();
    if (type.isF16() || type.isBF16())
      return b.getInt(number.getValue().bitcastToAPInt());
    return llvm::ConstantFP::get(b.getContext(), number.getValue());
  }
  if (auto number = dyn_cast<IntegerAttr>(value))
    return b.getInt(number.getValue());
  return nullptr;
}

/// A sum, or with a product that may be contracted, a fused multiply-add.
LValue Emitter::special(arith::AddFOp add) const {
  auto contracts = [](arith::FastMathFlags flags) {
    return bitEnumContainsAll(flags, arith::FastMathFlags::contract);
  };
  if (ir.host.hasFma && contracts(add.getFastmath()))
    for (unsigned k : {0u, 1u})
      if (auto product = op->getOperand(k).getDefiningOp<arith::MulFOp>();
          product && product->hasOneUse() && contracts(product.getFastmath()))
        return b.CreateIntrinsic(
            Intrinsic::fma, {resultType()},
            {operand(product.getLhs()), operand(product.getRhs()), at(1 - k)});
  return b.CreateFAdd(at(0), at(1));
}

/// base^n by repeated squaring: for each bit of |n|, from the lowest, r *= base
/// if the bit is set, then base *= base; finally 1 / r if n is negative.
static llvm::Function *powerFunction(Ir &ir, llvm::Type *type,
                                     llvm::IntegerType *exponent) {
  std::string name =
      ("heddle.powi." + llvm::Twine(type->isDoubleTy() ? 64 : 32) + "." +
       llvm::Twine(exponent->getBitWidth()))
          .str();
  if (llvm::Function *made = ir.module.getFunction(name))
    return made;
  auto &b = ir.b;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::Function *function = ir.function(name, type, {type, exponent});
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(b.getContext(), name, function);
  };
  llvm::BasicBlock *entry = b.GetInsertBlock(), *head = block("head"),
                   *inside = block("inside"), *done = block("done");
  LValue n = function->getArg(1), zero = llvm::ConstantInt::get(exponent, 0),
         one = llvm::ConstantFP::get(type, 1.0);
  LValue negative = b.CreateICmpSLT(n, zero);
  LValue size = b.CreateSelect(negative, b.CreateNeg(n), n);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode *result = b.CreatePHI(type, 2), *base = b.CreatePHI(type, 2),
                *left = b.CreatePHI(exponent, 2);
  result->addIncoming(one, entry);
  base->addIncoming(function->getArg(0), entry);
  left->addIncoming(size, entry);
  b.CreateCondBr(b.CreateICmpNE(left, zero), inside, done);
  b.SetInsertPoint(inside);
  LValue odd = b.CreateTrunc(left, b.getInt1Ty());
  result->addIncoming(b.CreateSelect(odd, b.CreateFMul(result, base), result),
                      inside);
  base->addIncoming(b.CreateFMul(base, base), inside);
  left->addIncoming(b.CreateLShr(left, 1), inside);
  b.CreateBr(head);
  b.SetInsertPoint(done);
  b.CreateRet(b.CreateSelect(negative, b.CreateFDiv(one, result), result));
  return function;
}

/// The operand that is a number if the other one is NaN, otherwise `extremum`.
/// LLVM 22's `maximumnum` gives NaN on processors with AVX-512 if it knows that
/// one operand is a number.
LValue Emitter::numberOf(LValue extremum) const {
  LValue first = at(0), second = at(1);
  LValue result =
      b.CreateSelect(b.CreateFCmpUNO(second, second), first, extremum);
  return b.CreateSelect(b.CreateFCmpUNO(first, first), second, result);
}

LValue Emitter::special(math::FPowIOp) const {
  llvm::Type *type = resultType();
  APInt known;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&known))) {
    LValue n = at(1);
    return b.CreateCall(
        powerFunction(ir, type, cast<llvm::IntegerType>(n->getType())),
        {at(0), n});
  }
  // With a constant exponent only the products remain, in the same order.
  LValue one = llvm::ConstantFP::get(type, 1.0), result = one, base = at(0);
  for (APInt left = known.abs(); !left.isZero();) {
    if (left[0])
      result = result == one ? base : b.CreateFMul(result, base);
    left.lshrInPlace(1);
    if (!left.isZero())
      base = b.CreateFMul(base, base);
  }
  return known.isNegative() ? b.CreateFDiv(one, result) : result;
}

/// -1, 0 or 1; for a zero or NaN, the operand.
LValue Emitter::special(foreach::SignOp) const {
  LValue x = at(0), zero = llvm::ConstantFP::get(x->getType(), 0.0);
  LValue one = llvm::ConstantFP::get(x->getType(), 1.0),
         minus = llvm::ConstantFP::get(x->getType(), -1.0);
  return b.CreateSelect(b.CreateFCmpOGT(x, zero), one,
                        b.CreateSelect(b.CreateFCmpOLT(x, zero), minus, x));
}

LValue Emitter::special(math::IsNaNOp) const {
  LValue x = at(0);
  return b.CreateFCmpUNO(x, x);
}

LValue Emitter::special(math::IsInfOp) const {
  LValue size = b.CreateUnaryIntrinsic(Intrinsic::fabs, at(0));
  return b.CreateFCmpOEQ(size, llvm::ConstantFP::getInfinity(size->getType()));
}

LValue Emitter::special(math::IsFiniteOp) const {
  LValue size = b.CreateUnaryIntrinsic(Intrinsic::fabs, at(0));
  return b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(size->getType()));
}

static llvm::CmpInst::Predicate predicateOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  using C = llvm::CmpInst;
  switch (predicate) {
  case P::AlwaysFalse:
    return C::FCMP_FALSE;
  case P::OEQ:
    return C::FCMP_OEQ;
  case P::OGT:
    return C::FCMP_OGT;
  case P::OGE:
    return C::FCMP_OGE;
  case P::OLT:
    return C::FCMP_OLT;
  case P::OLE:
    return C::FCMP_OLE;
  case P::ONE:
    return C::FCMP_ONE;
  case P::ORD:
    return C::FCMP_ORD;
  case P::UEQ:
    return C::FCMP_UEQ;
  case P::UGT:
    return C::FCMP_UGT;
  case P::UGE:
    return C::FCMP_UGE;
  case P::ULT:
    return C::FCMP_ULT;
  case P::ULE:
    return C::FCMP_ULE;
  case P::UNE:
    return C::FCMP_UNE;
  case P::UNO:
    return C::FCMP_UNO;
  case P::AlwaysTrue:
    return C::FCMP_TRUE;
  }
  return C::FCMP_FALSE;
}

static llvm::CmpInst::Predicate predicateOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  using C = llvm::CmpInst;
  switch (predicate) {
  case P::eq:
    return C::ICMP_EQ;
  case P::ne:
    return C::ICMP_NE;
  case P::slt:
    return C::ICMP_SLT;
  case P::sle:
    return C::ICMP_SLE;
  case P::sgt:
    return C::ICMP_SGT;
  case P::sge:
    return C::ICMP_SGE;
  case P::ult:
    return C::ICMP_ULT;
  case P::ule:
    return C::ICMP_ULE;
  case P::ugt:
    return C::ICMP_UGT;
  case P::uge:
    return C::ICMP_UGE;
  }
  return C::ICMP_EQ;
}

LValue Emitter::special(arith::CmpFOp op) const {
  return b.CreateFCmp(predicateOf(op.getPredicate()), at(0), at(1));
}

LValue Emitter::special(arith::CmpIOp op) const {
  return b.CreateICmp(predicateOf(op.getPredicate()), at(0), at(1));
}

LValue Emitter::special(math::RsqrtOp) const {
  return b.CreateFDiv(llvm::ConstantFP::get(resultType(), 1.0),
                      intrinsic(Intrinsic::sqrt));
}

LValue Emitter::special(math::AbsIOp) const {
  LValue x = at(0), zero = llvm::ConstantInt::get(x->getType(), 0);
  return b.CreateSelect(b.CreateICmpSLT(x, zero), b.CreateNeg(x), x);
}

/// Values of 16 bits keep their storage type.
LValue Emitter::special(arith::ExtFOp op) const {
  return convert(ir, at(0), op.getIn().getType(), op.getType());
}

LValue Emitter::special(arith::TruncFOp op) const {
  return convert(ir, at(0), op.getIn().getType(), op.getType());
}

/// Saturates out of range, as on the device; the result is never undefined.
LValue Emitter::special(arith::FPToSIOp) const {
  LValue x = at(0);
  return b.CreateIntrinsic(Intrinsic::fptosi_sat, {resultType(), x->getType()},
                           {x});
}

LValue Emitter::special(arith::FPToUIOp) const {
  LValue x = at(0);
  return b.CreateIntrinsic(Intrinsic::fptoui_sat, {resultType(), x->getType()},
                           {x});
}

/// A division that would trap is replaced by one by 1: by 0, and of the
/// smallest number by -1, whose quotient wraps. A quotient by 0 is 0, and its
/// remainder the dividend.
LValue Emitter::divide(bool isSigned, bool wantsQuotient) const {
  LValue x = at(0), y = at(1);
  auto *type = cast<llvm::IntegerType>(x->getType());
  if (type->getBitWidth() == 1) // has no signed 1
    return b.CreateAnd(x, wantsQuotient ? y : b.CreateNot(y));
  LValue zero = llvm::ConstantInt::get(type, 0),
         one = llvm::ConstantInt::get(type, 1);
  LValue isZero = b.CreateICmpEQ(y, zero), traps = isZero;
  if (isSigned) {
    LValue lowest = llvm::ConstantInt::get(
        type, APInt::getSignedMinValue(type->getBitWidth()));
    LValue overflows = b.CreateAnd(
        b.CreateICmpEQ(x, lowest),
        b.CreateICmpEQ(y, llvm::ConstantInt::getAllOnesValue(type)));
    traps = b.CreateOr(traps, overflows);
  }
  LValue by = b.CreateSelect(traps, one, y);
  if (wantsQuotient)
    return b.CreateSelect(isZero, zero,
                          isSigned ? b.CreateSDiv(x, by) : b.CreateUDiv(x, by));
  return b.CreateSelect(isZero, x,
                        isSigned ? b.CreateSRem(x, by) : b.CreateURem(x, by));
}

/// Whether a shift by `count`, an unsigned number, is defined in LLVM IR.
LValue Emitter::isWithin(LValue count) const {
  auto *type = cast<llvm::IntegerType>(count->getType());
  unsigned width = type->getBitWidth();
  if (width == 1) // has no number 1 that is greater than every count
    return b.CreateNot(count);
  return b.CreateICmpULT(count, llvm::ConstantInt::get(type, width));
}

/// Shifts by at least the width shift out every bit.
LValue Emitter::special(arith::ShLIOp) const {
  LValue x = at(0), count = at(1);
  return b.CreateSelect(isWithin(count), b.CreateShl(x, count),
                        llvm::ConstantInt::get(x->getType(), 0));
}
LValue Emitter::special(arith::ShRUIOp) const {
  LValue x = at(0), count = at(1);
  return b.CreateSelect(isWithin(count), b.CreateLShr(x, count),
                        llvm::ConstantInt::get(x->getType(), 0));
}
LValue Emitter::special(arith::ShRSIOp) const {
  LValue x = at(0), count = at(1);
  LValue most = llvm::ConstantInt::get(x->getType(),
                                       x->getType()->getIntegerBitWidth() - 1);
  return b.CreateAShr(x, b.CreateSelect(isWithin(count), count, most));
}

LValue Emitter::special(foreach::HighOp) const {
  LValue x = at(0), bits = b.CreateBitCast(x, b.getInt32Ty());
  LValue high = b.CreateAnd(b.CreateAdd(bits, b.getInt32(0x8000)),
                            b.getInt32(0xffff0000));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x,
                        b.CreateBitCast(high, x->getType()));
}

LValue Emitter::special(foreach::LowOp) const {
  LValue x = at(0), bits = b.CreateBitCast(x, b.getInt32Ty());
  return b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt16(0),
                        b.CreateTrunc(bits, b.getInt16Ty()));
}

LValue Emitter::special(foreach::JoinOp) const {
  LValue high = at(0), bits = b.CreateBitCast(high, b.getInt32Ty());
  LValue low = b.CreateSExt(at(1), b.getInt32Ty());
  LValue isZero = b.CreateIsNull(b.CreateShl(bits, 1));
  LValue least = b.CreateSelect(isZero, b.getInt32(0), b.getInt32(-0x8000));
  low = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, low, least);
  return b.CreateBitCast(b.CreateAdd(bits, low), high->getType());
}

/// Philox4x32-7; see foreach.random.
LValue Emitter::special(foreach::RandomOp) const {
  auto *type = cast<llvm::IntegerType>(resultType());
  unsigned width = type->getBitWidth(), perBlock = 128 / width;
  llvm::Type *i32 = b.getInt32Ty();
  auto lower = [&](LValue value) { return b.CreateTrunc(value, i32); };
  auto upper = [&](LValue value) { return lower(b.CreateLShr(value, 32)); };
  LValue seed = at(0), stream = at(1), position = at(3);
  LValue block = b.CreateAdd(
      at(2), b.CreateLShr(position, llvm::Log2_32(perBlock)), "block");
  LValue key[] = {lower(seed), upper(seed)};
  LValue word[] = {lower(block), upper(block), lower(stream), upper(stream)};
  for (int round = 0; round < 7; ++round) {
    auto product = [&](LValue value, uint32_t factor) {
      return b.CreateMul(b.CreateZExt(value, b.getInt64Ty()),
                         b.getInt64(factor));
    };
    LValue first = product(word[0], 0xd2511f53),
           second = product(word[2], 0xcd9e8d57);
    LValue mixed[] = {
        b.CreateXor(b.CreateXor(upper(second), word[1]), key[0]), lower(second),
        b.CreateXor(b.CreateXor(upper(first), word[3]), key[1]), lower(first)};
    std::copy(mixed, mixed + 4, word);
    key[0] = b.CreateAdd(key[0], b.getInt32(0x9e3779b9));
    key[1] = b.CreateAdd(key[1], b.getInt32(0xbb67ae85));
  }
  LValue number = b.CreateAnd(position, perBlock - 1);
  LValue index = width == 32 ? number : b.CreateLShr(number, 1);
  auto isSet = [&](LValue value, unsigned bit) {
    return b.CreateTrunc(b.CreateLShr(value, bit), b.getInt1Ty());
  };
  LValue isOdd = isSet(index, 0);
  LValue wanted =
      b.CreateSelect(isSet(index, 1), b.CreateSelect(isOdd, word[3], word[2]),
                     b.CreateSelect(isOdd, word[1], word[0]));
  if (width == 16)
    wanted = b.CreateSelect(isSet(number, 0), b.CreateLShr(wanted, 16), wanted);
  return b.CreateTrunc(wanted, type, "random");
}

/// See foreach.round; codegen/device/random.cuh has the same operations.
LValue Emitter::special(foreach::RoundOp op) const {
  llvm::Type *i32 = b.getInt32Ty(), *f32 = b.getFloatTy();
  LValue x = at(0), by = b.CreateZExt(at(1), i32);
  auto bitsOf = [&](LValue value) { return b.CreateBitCast(value, i32); };
  auto floatOf = [&](LValue value) { return b.CreateBitCast(value, f32); };
  LValue isNaN = b.CreateFCmpUNO(x, x);
  if (op.getTo().isBF16())
    return b.CreateSelect(isNaN, x,
                          floatOf(b.CreateAnd(b.CreateAdd(bitsOf(x), by),
                                              b.getInt32(0xffff0000))));
  LValue size = b.CreateUnaryIntrinsic(Intrinsic::fabs, x);
  LValue normal = b.CreateAnd(b.CreateAdd(bitsOf(size), b.CreateLShr(by, 3)),
                              b.getInt32(0xffffe000));
  LValue infinity = b.getInt32(0x7f800000);
  normal = floatOf(b.CreateSelect(
      b.CreateICmpUGE(normal, b.getInt32(0x47800000)), infinity, normal));
  // Below 2^-14, in units of 2^-24, with 16 more bits.
  LValue isSmall = b.CreateFCmpOLT(size, llvm::ConstantFP::get(f32, 0x1p-14));
  LValue within =
      b.CreateSelect(isSmall, size, llvm::ConstantFP::get(f32, 0.0));
  LValue parts = b.CreateFPToUI(
      b.CreateFMul(within, llvm::ConstantFP::get(f32, 0x1p40)), i32);
  LValue units = b.CreateLShr(b.CreateAdd(parts, by), 16);
  LValue small = b.CreateFMul(b.CreateUIToFP(units, f32),
                              llvm::ConstantFP::get(f32, 0x1p-24));
  LValue rounded = b.CreateSelect(isSmall, small, normal);
  return b.CreateSelect(
      isNaN, x, b.CreateBinaryIntrinsic(Intrinsic::copysign, rounded, x));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

LValue Emitter::emit() const {
#define UNARY(INSTRUCTION) b.Create##INSTRUCTION(at(0))
#define BINARY(INSTRUCTION) b.Create##INSTRUCTION(at(0), at(1))
#define TERNARY(INSTRUCTION) b.Create##INSTRUCTION(at(0), at(1), at(2))
#define CONVERSION(INSTRUCTION) b.Create##INSTRUCTION(at(0), resultType())
#define INTRINSIC(ID) intrinsic(Intrinsic::ID)
#define INTRINSIC_OR_LIBM(ID, FUNCTION) intrinsic(Intrinsic::ID)
#define LIBM(FUNCTION) library(#FUNCTION)
#define CODE special(scalar)
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
  .Case([&](OP scalar) -> LValue { return LLVM; })
  return llvm::TypeSwitch<Operation *, LValue>(op)
      .Case([&](arith::ConstantOp c) { return constant(c.getValue()); })
#include "dialect/ScalarOps.def"
      .Default([](Operation *) -> LValue { return nullptr; });
#undef UNARY
#undef BINARY
#undef TERNARY
#undef CONVERSION
#undef INTRINSIC
#undef INTRINSIC_OR_LIBM
#undef LIBM
#undef CODE
}

LValue emitScalar(Ir &ir, Operation *op,
                  llvm::function_ref<LValue(mlir::Value)> operand) {
  return Emitter(ir, op, operand).emit();
}

} // namespace heddle::cpu

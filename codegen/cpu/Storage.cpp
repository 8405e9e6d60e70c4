//===- Storage.cpp - elements in memory -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts 16-bit floats by instructions of the host if it has them, and
// otherwise by integer arithmetic, which vectorizes on every host.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Storage.h"
#include "mlir/IR/BuiltinTypes.h"

using llvm::Value;

namespace heddle::cpu {

namespace {
/// Conversions between 16-bit floats and the bits of an f32.
class Bits {
public:
  explicit Bits(Ir &ir) : ir(ir), b(ir.b) {}

  Value *fromBf16(Value *bits) { return asFloat(b.CreateShl(wide(bits), 16)); }

  Value *toBf16(Value *value) {
    Value *bits = asInt(value);
    Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
    Value *rounded = b.CreateLShr(
        b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff))), 16);
    // The carry must not turn NaN into infinity.
    Value *quiet = b.CreateOr(b.CreateLShr(bits, 16), 0x40);
    return narrow(
        b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded));
  }

  /// An f64 as an f32 that rounds to the same 16-bit float as the f64: the f32
  /// towards zero, with its last bit set if it is not exact.
  Value *sticky(Value *value) {
    Value *nearest = b.CreateFPTrunc(value, b.getFloatTy());
    Value *back = b.CreateFPExt(nearest, b.getDoubleTy());
    auto magnitude = [&](Value *number) {
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, number);
    };
    Value *isFar = b.CreateFCmpOGT(magnitude(back), magnitude(value));
    Value *isInexact = b.CreateFCmpONE(back, value);
    Value *inward =
        b.CreateSub(asInt(nearest), b.CreateZExt(isFar, b.getInt32Ty()));
    return asFloat(b.CreateOr(inward, b.CreateZExt(isInexact, b.getInt32Ty())));
  }

  Value *fromF16(Value *bits) {
    if (ir.host.convertsF16)
      return b.CreateFPExt(b.CreateBitCast(bits, b.getHalfTy()),
                           b.getFloatTy());
    Value *all = wide(bits);
    Value *sign = b.CreateShl(b.CreateAnd(all, 0x8000), 16);
    Value *magnitude = b.CreateShl(b.CreateAnd(all, 0x7fff), 13);
    // Scaling by 2^112 adjusts the exponent and normalizes subnormal numbers.
    Value *scale = asFloat(b.getInt32((127 + 112) << 23));
    Value *finite = asInt(b.CreateFMul(asFloat(magnitude), scale));
    Value *special = b.CreateOr(magnitude, 0x7f800000);
    Value *isSpecial = b.CreateICmpUGE(magnitude, b.getInt32(0x7c00 << 13));
    return asFloat(
        b.CreateOr(sign, b.CreateSelect(isSpecial, special, finite)));
  }

  Value *toF16(Value *value) {
    if (ir.host.convertsF16)
      return b.CreateBitCast(b.CreateFPTrunc(value, b.getHalfTy()),
                             b.getInt16Ty());
    Value *bits = asInt(value);
    Value *sign = b.CreateAnd(b.CreateLShr(bits, 16), 0x8000);
    Value *magnitude = b.CreateAnd(bits, 0x7fffffff);
    Value *odd = b.CreateAnd(b.CreateLShr(magnitude, 13), 1);
    Value *moved = b.CreateSub(magnitude, b.getInt32((112 << 23) - 0xfff));
    Value *normal = b.CreateLShr(b.CreateAdd(moved, odd), 13);
    // The last bit of 1/2 is the smallest subnormal, so adding 1/2 rounds the
    // value to a multiple of it.
    Value *half = llvm::ConstantFP::get(b.getFloatTy(), 0.5);
    Value *subnormal = b.CreateSub(
        asInt(b.CreateFAdd(asFloat(magnitude), half)), b.getInt32(0x3f000000));
    Value *result = b.CreateSelect(
        b.CreateICmpULT(magnitude, b.getInt32(0x38800000)), subnormal, normal);
    result = b.CreateSelect(b.CreateICmpUGE(magnitude, b.getInt32(0x47800000)),
                            b.getInt32(0x7c00), result);
    result = b.CreateSelect(b.CreateICmpUGT(magnitude, b.getInt32(0x7f800000)),
                            b.getInt32(0x7e00), result);
    return narrow(b.CreateOr(sign, result));
  }

private:
  Value *wide(Value *bits) { return b.CreateZExt(bits, b.getInt32Ty()); }
  Value *narrow(Value *bits) { return b.CreateTrunc(bits, b.getInt16Ty()); }
  Value *asFloat(Value *bits) { return b.CreateBitCast(bits, b.getFloatTy()); }
  Value *asInt(Value *value) { return b.CreateBitCast(value, b.getInt32Ty()); }

  Ir &ir;
  llvm::IRBuilder<> &b;
};
} // namespace

Value *convert(Ir &ir, Value *value, mlir::Type from, mlir::Type to) {
  if (from == to)
    return value;
  if (from.isF16() || from.isBF16()) {
    Value *wide =
        from.isF16() ? Bits(ir).fromF16(value) : Bits(ir).fromBf16(value);
    return convert(ir, wide, mlir::Float32Type::get(from.getContext()), to);
  }
  if (from.isF32() && to.isF64())
    return ir.b.CreateFPExt(value, ir.b.getDoubleTy());
  if (from.isF64() && to.isF32())
    return ir.b.CreateFPTrunc(value, ir.b.getFloatTy());
  if (from.isF64())
    value = Bits(ir).sticky(value);
  return to.isF16() ? Bits(ir).toF16(value) : Bits(ir).toBf16(value);
}

static llvm::Align alignOf(llvm::Type *type) {
  return llvm::Align(type->getPrimitiveSizeInBits() / 8);
}

llvm::LoadInst *loadStored(Ir &ir, mlir::Type storage, Value *address) {
  llvm::Type *type = ir.memoryTypeOf(storage);
  return ir.b.CreateAlignedLoad(type, address, alignOf(type));
}

Value *fromMemory(Ir &ir, mlir::Type storage, Value *loaded) {
  return storage.isInteger(1) ? ir.b.CreateIsNotNull(loaded) : loaded;
}

llvm::StoreInst *storeStored(Ir &ir, mlir::Type storage, Value *value,
                             Value *address) {
  llvm::Type *type = ir.memoryTypeOf(storage);
  if (value->getType() != type)
    value = ir.b.CreateZExt(value, type);
  return ir.b.CreateAlignedStore(value, address, alignOf(type));
}

} // namespace heddle::cpu

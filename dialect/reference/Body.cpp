//===- Body.cpp - the scalar code of one map or reduction -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the column REFERENCE of dialect/ScalarOps.def. Floats of all types
// are computed in double; integers are stored sign-extended, flags as 0 and 1.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Body.h"
#include "dialect/Foreach.h"
#include "dialect/ScalarOps.h"
#include "dialect/reference/Rounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::reference {

//===----------------------------------------------------------------------===//
// Scalar semantics
//===----------------------------------------------------------------------===//

static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

static double minimum(double a, double b) { return -maximum(-a, -b); }

static double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }

static int64_t toInteger(double a, unsigned width) {
  if (std::isnan(a))
    return 0;
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  if (a >= limit)
    return width >= 64 ? std::numeric_limits<int64_t>::max()
                       : (int64_t(1) << (width - 1)) - 1;
  if (a < -limit)
    return width >= 64 ? std::numeric_limits<int64_t>::min()
                       : -(int64_t(1) << (width - 1));
  return static_cast<int64_t>(a);
}

/// The operand of signed arithmetic: a set flag is -1.
static int64_t signedView(int64_t a, unsigned width) {
  return width == 1 ? -a : a;
}

static uint64_t unsignedView(int64_t a, unsigned width) {
  auto bits = static_cast<uint64_t>(a);
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  llvm_unreachable("all predicates are handled");
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b,
                    unsigned width) {
  int64_t sa = signedView(a, width), sb = signedView(b, width);
  uint64_t ua = unsignedView(a, width), ub = unsignedView(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return sa < sb;
  case arith::CmpIPredicate::sle:
    return sa <= sb;
  case arith::CmpIPredicate::sgt:
    return sa > sb;
  case arith::CmpIPredicate::sge:
    return sa >= sb;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  llvm_unreachable("all predicates are handled");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// The functions of instructions. The operation on one element is a template
/// argument, so that it is inlined into the loop over the block.
struct Operations {
  using Instruction = Body::Instruction;

  template <auto F>
  static void float1(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = F(a[k]);
  }

  template <auto F>
  static void float2(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a), *b = body.floats(x.b);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = F(a[k], b[k]);
  }

  template <auto F>
  static void float3(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a), *b = body.floats(x.b),
                 *c = body.floats(x.c);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = F(a[k], b[k], c[k]);
  }

  template <auto F>
  static void test(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = F(a[k]);
  }

  template <auto F>
  static void integer1(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = wrap(F(a[k], x.from), x.to);
  }

  /// Wraps around as unsigned numbers do, without undefined overflow.
  template <auto F>
  static void integer2(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a), *b = body.integers(x.b);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] =
          wrap(F(signedView(a[k], x.from), signedView(b[k], x.from)), x.to);
  }

  static void compareFloats(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a), *b = body.floats(x.b);
    int64_t *result = body.integers(x.result);
    auto predicate = static_cast<arith::CmpFPredicate>(x.predicate);
    for (int64_t k = 0; k < count; ++k)
      result[k] = compare(predicate, a[k], b[k]);
  }

  static void compareIntegers(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a), *b = body.integers(x.b);
    int64_t *result = body.integers(x.result);
    auto predicate = static_cast<arith::CmpIPredicate>(x.predicate);
    for (int64_t k = 0; k < count; ++k)
      result[k] = compare(predicate, a[k], b[k], x.from);
  }

  static void selectFloats(const Instruction &x, Body &body, int64_t count) {
    const int64_t *flag = body.integers(x.a);
    const double *yes = body.floats(x.b), *no = body.floats(x.c);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = flag[k] ? yes[k] : no[k];
  }

  static void selectIntegers(const Instruction &x, Body &body, int64_t count) {
    const int64_t *flag = body.integers(x.a), *yes = body.integers(x.b),
                  *no = body.integers(x.c);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = flag[k] ? yes[k] : no[k];
  }

  /// The power by repeated squaring in `T`, as on every target.
  template <typename T> static double power(double base, int64_t exponent) {
    T result = 1, square = static_cast<T>(base);
    for (uint64_t left = exponent < 0 ? -static_cast<uint64_t>(exponent)
                                      : static_cast<uint64_t>(exponent);
         left; left >>= 1) {
      if (left & 1)
        result *= square;
      square *= square;
    }
    return exponent < 0 ? 1 / result : result;
  }

  static void integerPower(const Instruction &x, Body &body, int64_t count) {
    const double *base = body.floats(x.a);
    const int64_t *exponent = body.integers(x.b);
    double *result = body.floats(x.result);
    bool exact = body.arithmetic == Arithmetic::exact;
    bool isDouble = x.type.isF64();
    for (int64_t k = 0; k < count; ++k) {
      int64_t n = signedView(exponent[k], x.from);
      result[k] = exact      ? std::pow(base[k], static_cast<double>(n))
                  : isDouble ? power<double>(base[k], n)
                             : power<float>(base[k], n);
    }
  }

  static void fromSigned(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = static_cast<double>(signedView(a[k], x.from));
  }

  static void fromUnsigned(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = static_cast<double>(unsignedView(a[k], x.from));
  }

  static void toSigned(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = wrap(toInteger(a[k], x.to), x.to);
  }

  static void floatConstant(const Instruction &x, Body &body, int64_t count) {
    std::fill_n(body.floats(x.result), count, x.number);
  }

  static void integerConstant(const Instruction &x, Body &body, int64_t count) {
    std::fill_n(body.integers(x.result), count, x.integer);
  }

  static void single(const Instruction &x, Body &body, int64_t count) {
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = static_cast<float>(result[k]);
  }

  /// Moves a value up or down. The bits of the value and of the seed decide, so
  /// every run gives the same result.
  static void perturbed(const Instruction &x, Body &body, int64_t count) {
    double unit = x.type.isF32() ? 0x1p-23 : 0x1p-52;
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k) {
      uint64_t mixed = (llvm::bit_cast<uint64_t>(result[k]) ^ body.seed << 21) *
                       0x9e3779b97f4a7c15; // 2^64 / the golden ratio
      result[k] *= mixed >> 63 ? 1 + unit : 1 - unit;
    }
  }

  /// Rounds to a 16-bit float, as if a list stored the value.
  static void stored(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.floats(x.a), count, body.floats(x.result));
    roundAll(x.type, body.floats(x.result), count);
  }

  /// Converts the doubles that lists hold to integers, and back.
  static void loadIntegers(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = integerFrom(a[k]);
  }

  static void storeIntegers(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = static_cast<double>(a[k]);
  }

  static Body::Run special(arith::CmpFOp) { return compareFloats; }
  static Body::Run special(arith::CmpIOp) { return compareIntegers; }
  static Body::Run special(arith::SelectOp op) {
    return isa<FloatType>(op.getType()) ? selectFloats : selectIntegers;
  }
  static Body::Run special(math::FPowIOp) { return integerPower; }
  static Body::Run special(arith::SIToFPOp) { return fromSigned; }
  static Body::Run special(arith::UIToFPOp) { return fromUnsigned; }
  static Body::Run special(arith::FPToSIOp) { return toSigned; }

  static Body::Run of(Operation *op);
};

/// The function of an operation; null for operations without operands.
Body::Run Operations::of(Operation *op) {
#define FLOAT1(EXPRESSION) float1<[](double a) { return EXPRESSION; }>
#define FLOAT2(EXPRESSION) float2<[](double a, double b) { return EXPRESSION; }>
#define FLOAT3(EXPRESSION)                                                     \
  float3<[](double a, double b, double c) { return EXPRESSION; }>
#define PREDICATE(EXPRESSION) test<[](double a) { return EXPRESSION; }>
#define INTEGER1(EXPRESSION)                                                   \
  integer1<[](int64_t a, unsigned width) -> int64_t { return EXPRESSION; }>
#define INTEGER2(EXPRESSION)                                                   \
  integer2<[](uint64_t a, uint64_t b) -> int64_t { return EXPRESSION; }>
#define CODE special(scalar)
#define HEDDLE_SCALAR(OP, COST, ROUNDING, REFERENCE, CUDA, LLVM)               \
  .Case([](OP scalar) -> Body::Run { return REFERENCE; })
  return TypeSwitch<Operation *, Body::Run>(op)
#include "dialect/ScalarOps.def"
      .Default(nullptr);
#undef FLOAT1
#undef FLOAT2
#undef FLOAT3
#undef PREDICATE
#undef INTEGER1
#undef INTEGER2
#undef CODE
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Body::Slot Body::define(Type type, bool uniform) {
  bool isFloat = isa<FloatType>(type);
  Slot slot{isFloat ? floatCount++ : integerCount++, isFloat, uniform};
  if (uniform)
    uniforms.push_back(slot);
  return slot;
}

void Body::emit(const Instruction &instruction, bool uniform) {
  (uniform ? perMember : perBlock).push_back(instruction);
}

void Body::roundToSingle(Slot slot) {
  Instruction instruction;
  instruction.run = Operations::single;
  instruction.result = slot.index;
  emit(instruction, slot.uniform);
}

void Body::perturb(Slot slot, Type type) {
  Instruction instruction;
  instruction.run = Operations::perturbed;
  instruction.result = slot.index;
  instruction.type = type;
  emit(instruction, slot.uniform);
}

static bool rounds(Operation &op) {
  const ScalarOp *scalar = findScalarOp(&op);
  return scalar && scalar->rounding == ScalarRounding::rounds;
}

static unsigned widthOf(Type type) {
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

void Body::compile(Operation &op) {
  mlir::Value result = op.getResult(0);
  bool uniform = llvm::all_of(op.getOperands(), [&](mlir::Value operand) {
    return slots.lookup(operand).uniform;
  });
  Instruction instruction;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
      instruction.run = Operations::floatConstant;
      instruction.number = number.getValueAsDouble();
    } else {
      instruction.run = Operations::integerConstant;
      auto integer = cast<IntegerAttr>(constant.getValue()).getValue();
      instruction.integer = wrap(integer.getSExtValue(), integer.getBitWidth());
    }
  } else if (isa<foreach::IterationOp>(op)) {
    instruction.run = Operations::integerConstant;
    instruction.integer = iteration;
  } else {
    instruction.run = Operations::of(&op);
    unsigned *indices[] = {&instruction.a, &instruction.b, &instruction.c};
    for (auto [index, operand] : llvm::zip(indices, op.getOperands()))
      *index = slots.lookup(operand).index;
    // If the operands differ in type, the last one is the integer.
    instruction.from = widthOf(op.getOperands().back().getType());
    instruction.to = widthOf(result.getType());
    instruction.type = result.getType();
    if (result.getType().isF16() || result.getType().isBF16())
      instruction.run = Operations::stored;
    if (auto comparison = dyn_cast<arith::CmpFOp>(op))
      instruction.predicate = static_cast<unsigned>(comparison.getPredicate());
    if (auto comparison = dyn_cast<arith::CmpIOp>(op))
      instruction.predicate = static_cast<unsigned>(comparison.getPredicate());
  }
  assert(instruction.run && "the verifier admits only implemented operations");
  Slot slot = define(result.getType(), uniform);
  slots[result] = slot;
  instruction.result = slot.index;
  emit(instruction, uniform);
  if (arithmetic == Arithmetic::perturbed && rounds(op))
    perturb(slot, result.getType());
  if (arithmetic != Arithmetic::exact && result.getType().isF32())
    roundToSingle(slot);
}

Body::Body(Block &block, Arithmetic arithmetic, uint64_t seed,
           ArrayRef<Operand> operands, int64_t iteration)
    : arithmetic(arithmetic), seed(seed), iteration(iteration) {
  for (auto [operand, argument] : llvm::zip(operands, block.getArguments())) {
    Type type = argument.getType();
    Slot slot = define(type, operand.uniform);
    slots[argument] = slot;
    if (!slot.isFloat) {
      Instruction load;
      load.run = Operations::loadIntegers;
      load.a = floatCount++;
      load.result = slot.index;
      emit(load, slot.uniform);
      inputs.push_back(load.a);
      continue;
    }
    inputs.push_back(slot.index);
    if (arithmetic != Arithmetic::exact && type.isF32() &&
        operand.storage.isF64())
      roundToSingle(slot);
  }
  for (Operation &op : block.without_terminator())
    compile(op);
  auto yield = cast<foreach::YieldOp>(block.getTerminator());
  for (mlir::Value value : yield.getValues()) {
    Slot slot = slots.lookup(value);
    if (slot.isFloat) {
      outputs.push_back(slot.index);
      continue;
    }
    Instruction store;
    store.run = Operations::storeIntegers;
    store.a = slot.index;
    store.result = floatCount++;
    emit(store, /*uniform=*/false);
    outputs.push_back(store.result);
  }
  floatSlots.resize(floatCount * kBlock);
  integerSlots.resize(integerCount * kBlock);
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

void Body::beginMember(int64_t count) {
  for (const Instruction &instruction : perMember)
    instruction.run(instruction, *this, 1);
  count = std::min(count, kBlock);
  for (const Slot &slot : uniforms) {
    if (slot.isFloat)
      std::fill_n(floats(slot.index), count, *floats(slot.index));
    else
      std::fill_n(integers(slot.index), count, *integers(slot.index));
  }
}

void Body::run(int64_t count) {
  for (const Instruction &instruction : perBlock)
    instruction.run(instruction, *this, count);
}

} // namespace heddle::reference

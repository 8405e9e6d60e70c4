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
#include "dialect/reference/ScalarFunctions.h"
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
      result[k] = wrap(
          F(signedView(a[k], x.from), signedView(b[k], x.from), x.from), x.to);
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
    bool exact = isExact(body.options.arithmetic);
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

  static void toUnsignedIntegers(const Instruction &x, Body &body,
                                 int64_t count) {
    const double *a = body.floats(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = wrap(toUnsigned(a[k], x.to), x.to);
  }

  static void toBits(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = bitsOf(a[k], x.to);
  }
  static void fromBits(const Instruction &x, Body &body, int64_t count) {
    const int64_t *a = body.integers(x.a);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = floatOf(a[k], x.from);
  }
  static void copyFloats(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.floats(x.a), count, body.floats(x.result));
  }
  static void copyIntegers(const Instruction &x, Body &body, int64_t count) {
    std::copy_n(body.integers(x.a), count, body.integers(x.result));
  }

  static void lowHalf(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = lowOf(a[k]);
  }

  static void join(const Instruction &x, Body &body, int64_t count) {
    const double *high = body.floats(x.a);
    const int64_t *low = body.integers(x.b);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = joinOf(high[k], low[k]);
  }

  static void randoms(const Instruction &x, Body &body, int64_t count) {
    const int64_t *seed = body.integers(x.a), *stream = body.integers(x.b),
                  *block = body.integers(x.c), *position = body.integers(x.d);
    int64_t *result = body.integers(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] =
          wrap(randomAt(seed[k], stream[k], block[k], position[k], x.to), x.to);
  }

  template <bool ToBrain>
  static void roundAtRandom(const Instruction &x, Body &body, int64_t count) {
    const double *a = body.floats(x.a);
    const int64_t *bits = body.integers(x.b);
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] = roundedAtRandom(a[k], bits[k], ToBrain);
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
    double unit = 2 * unitRoundoff(x.type) * body.options.amplitude;
    double *result = body.floats(x.result);
    for (int64_t k = 0; k < count; ++k)
      result[k] *= 1 + unit * signOf(result[k], body.options.seed);
  }

  /// The operand already has its value in `result`; only its range changes.
  static void keep(const Instruction &, Body &, int64_t) {}

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
  static Body::Run special(arith::FPToUIOp) { return toUnsignedIntegers; }
  static Body::Run special(arith::BitcastOp op) {
    bool fromFloat = isa<FloatType>(op.getIn().getType());
    bool toFloat = isa<FloatType>(op.getType());
    return fromFloat ? toFloat ? copyFloats : toBits
                     : (toFloat ? fromBits : copyIntegers);
  }

  static Body::Run special(foreach::HighOp) {
    return float1<[](double a) { return highOf(a); }>;
  }
  static Body::Run special(foreach::LowOp) { return lowHalf; }
  static Body::Run special(foreach::JoinOp) { return join; }
  static Body::Run special(foreach::RandomOp) { return randoms; }
  static Body::Run special(foreach::RoundOp op) {
    return op.getTo().isBF16() ? roundAtRandom<true> : roundAtRandom<false>;
  }

  static Body::Run of(Operation *op);
};

/// The function of an operation; null for operations without operands. GCC 12
/// takes a > that is not in parentheses for the end of the template arguments.
Body::Run Operations::of(Operation *op) {
#define FLOAT1(EXPRESSION) float1<[](double a) { return (EXPRESSION); }>
#define FLOAT2(EXPRESSION)                                                     \
  float2<[](double a, double b) { return (EXPRESSION); }>
#define FLOAT3(EXPRESSION)                                                     \
  float3<[](double a, double b, double c) { return (EXPRESSION); }>
#define PREDICATE(EXPRESSION) test<[](double a) { return (EXPRESSION); }>
#define INTEGER1(EXPRESSION)                                                   \
  integer1<[](int64_t a, unsigned width) -> int64_t { return (EXPRESSION); }>
#define INTEGER2(EXPRESSION)                                                   \
  integer2<[](uint64_t a, uint64_t b, unsigned width) -> int64_t {             \
    (void)width;                                                               \
    return (EXPRESSION);                                                       \
  }>
#define CODE special(scalar)
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
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

int signOf(double value, uint64_t seed) {
  uint64_t mixed = (llvm::bit_cast<uint64_t>(value) ^ seed << 21) *
                   0x9e3779b97f4a7c15; // 2^64 / the golden ratio
  return mixed >> 63 ? 1 : -1;
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

/// Rounds the range of an operand that is bound as a narrower type.
void Body::narrow(Slot slot, Type type) {
  Instruction instruction;
  instruction.run = Operations::keep;
  instruction.range = rangeOfConversion();
  instruction.result = slot.index;
  instruction.type = type;
  emit(instruction, slot.uniform);
}

static double accuracyOf(Operation &op) {
  const ScalarOp *scalar = findScalarOp(&op);
  return scalar ? scalar->accuracy : 0;
}

static unsigned widthOf(Type type) {
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

void Body::compile(Operation &op) {
  mlir::Value result = op.getResult(0);
  bool uniform = !isa<foreach::IndexOp>(op) &&
                 llvm::all_of(op.getOperands(), [&](mlir::Value operand) {
                   return slots.lookup(operand).uniform;
                 });
  Instruction instruction;
  instruction.range = rangeOfExact(isa<FloatType>(result.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
      instruction.run = Operations::floatConstant;
      instruction.number = number.getValueAsDouble();
    } else {
      instruction.run = Operations::integerConstant;
      auto integer = cast<IntegerAttr>(constant.getValue()).getValue();
      instruction.integer = wrap(integer.getSExtValue(), integer.getBitWidth());
    }
  } else if (isa<foreach::ExtentOp, foreach::IndexOp>(op)) {
    instruction.run = Operations::keep; // set for each member or block
  } else if (isa<foreach::IterationOp>(op)) {
    instruction.run = Operations::integerConstant;
    instruction.integer = iteration;
  } else {
    instruction.run = Operations::of(&op);
    instruction.range = rangeOf(&op);
    instruction.accuracy = accuracyOf(op);
    unsigned *indices[] = {&instruction.a, &instruction.b, &instruction.c,
                           &instruction.d};
    for (auto [index, operand] : llvm::zip(indices, op.getOperands()))
      *index = slots.lookup(operand).index;
    for (mlir::Value operand : op.getOperands())
      instruction.readsFloat |= unsigned(isa<FloatType>(operand.getType()))
                                << instruction.operands++;
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
  if (auto extent = dyn_cast<foreach::ExtentOp>(op))
    extents.emplace_back(slot.index, extent.getAxis());
  if (auto position = dyn_cast<foreach::IndexOp>(op))
    positions.emplace_back(slot.index, position.getAxis());
  emit(instruction, uniform);
  if (options.arithmetic == Arithmetic::perturbed && accuracyOf(op) > 0)
    perturb(slot, result.getType());
  if (!isExact(options.arithmetic) && result.getType().isF32())
    roundToSingle(slot);
}

Body::Body(Block &block, const InterpretOptions &options,
           ArrayRef<Operand> operands, int64_t iteration)
    : options(options), iteration(iteration) {
  for (auto [operand, argument] : llvm::zip(operands, block.getArguments())) {
    Type type = argument.getType();
    Slot slot = define(type, operand.uniform);
    slots[argument] = slot;
    if (!slot.isFloat) {
      Instruction load;
      load.run = Operations::loadIntegers;
      load.range = rangeOfLoad();
      load.a = floatCount++;
      load.result = slot.index;
      emit(load, slot.uniform);
      inputs.push_back(load.a);
      continue;
    }
    inputs.push_back(slot.index);
    if (type.isF32() && operand.storage.isF64())
      isExact(options.arithmetic) ? narrow(slot, type) : roundToSingle(slot);
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
    store.range = rangeOfStore();
    store.a = slot.index;
    store.result = floatCount++;
    emit(store, /*uniform=*/false);
    outputs.push_back(store.result);
  }
  floatSlots.resize(floatCount * kBlock);
  integerSlots.resize(integerCount * kBlock);
  if (!hasRanges())
    return;
  for (std::vector<double> *plane : {&floatLows, &floatHighs})
    plane->resize(floatSlots.size());
  for (std::vector<int64_t> *plane : {&lowIntegers, &highIntegers})
    plane->resize(integerSlots.size());
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

void Body::execute(const Instruction &instruction, int64_t count) {
  instruction.run(instruction, *this, count);
  if (hasRanges() && instruction.range)
    instruction.range(instruction, *this, count);
}

void Body::setExtents(int64_t rows, int64_t columns) {
  this->columns = columns;
  for (auto [slot, axis] : extents)
    *integers(slot) = axis == foreach::Axis::i   ? rows
                      : axis == foreach::Axis::j ? columns
                                                 : rows * columns;
}

void Body::setPositions(int64_t row, int64_t column, bool down, int64_t count) {
  for (auto [slot, axis] : positions)
    for (int64_t k = 0; k < count; ++k) {
      int64_t i = down ? row + k : row, j = down ? column : column + k;
      integers(slot)[k] = axis == foreach::Axis::i   ? i
                          : axis == foreach::Axis::j ? j
                                                     : i * columns + j;
    }
}

void Body::beginMember(int64_t count) {
  for (const Instruction &instruction : perMember)
    execute(instruction, 1);
  count = std::min(count, kBlock);
  auto repeat = [&](auto *first) { std::fill_n(first, count, *first); };
  for (const Slot &slot : uniforms) {
    unsigned index = slot.index;
    slot.isFloat ? repeat(floats(index)) : repeat(integers(index));
    if (!hasRanges())
      continue;
    slot.isFloat ? repeat(lows(index)) : repeat(integerLows(index));
    slot.isFloat ? repeat(highs(index)) : repeat(integerHighs(index));
  }
}

void Body::run(int64_t count) {
  for (const Instruction &instruction : perBlock)
    execute(instruction, count);
}

} // namespace heddle::reference

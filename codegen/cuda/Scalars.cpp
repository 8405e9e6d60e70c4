//===- Scalars.cpp - scalar operations as C++ expressions -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the expressions in the column CUDA of dialect/ScalarOps.def.
// Parentheses appear only where the grouping of the IR needs them: the order of
// evaluation never changes.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Scalars.h"
#include "dialect/Foreach.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace heddle::cuda {

StringRef computedType(Type type) {
  if (type.isF64())
    return "double";
  // A value that fusion keeps out of a list of 16-bit floats is rounded as in
  // that list.
  if (type.isF16())
    return "heddle::f16";
  if (type.isBF16())
    return "heddle::bf16";
  if (isa<FloatType>(type))
    return "float";
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "bool";
  case 8:
    return "signed char";
  case 16:
    return "short";
  case 32:
    return "int";
  default:
    return "long long";
  }
}

StringRef storedType(Type type) { return computedType(type); }

namespace {
using Binding = Expression::Binding;

class Printer {
public:
  Printer(Operation *op, llvm::function_ref<Expression(Value)> operand)
      : op(op), operand(operand) {}

  std::optional<Expression> print() const;

private:
  /// Operand `k`, in parentheses unless it binds at least as tightly as
  /// `least`.
  std::string at(unsigned k, Binding least) const {
    Expression e = operand(op->getOperand(k));
    return e.binding >= least ? e.text : "(" + e.text + ")";
  }
  Expression infix(StringRef sign, Binding binding) const {
    // Left-associative: the right operand must bind tighter, so that the
    // grouping, and with it the rounding, matches the IR.
    auto tighter = static_cast<Binding>(binding + 1);
    return {at(0, binding) + " " + sign.str() + " " + at(1, tighter), binding};
  }
  Expression ofFlags(StringRef sign) const {
    return {"bool(" + at(0, Binding::unary) + " " + sign.str() + " " +
                at(1, Binding::unary) + ")",
            Binding::primary};
  }
  /// Integers wrap: if C++ would compute in a wider type, the result is
  /// truncated. Flags have an operator of their own.
  Expression integer(StringRef sign, Binding binding, StringRef flags) const {
    Type type = op->getResult(0).getType();
    if (type.isInteger(1))
      return ofFlags(flags);
    Expression result = infix(sign, binding);
    if (type.getIntOrFloatBitWidth() < 32)
      result = {("static_cast<" + computedType(type) + ">(" + result.text + ")")
                    .str(),
                Binding::primary};
    return result;
  }
  Expression bits(StringRef sign) const {
    Expression result = {at(0, Binding::unary) + " " + sign.str() + " " +
                             at(1, Binding::unary),
                         Binding::loosest};
    if (op->getResult(0).getType().isInteger(1))
      result = {"bool(" + result.text + ")", Binding::primary};
    return result;
  }
  /// A function template of integers over the type of the result, which
  /// literals do not determine. `flags` is an expression of the flags A and B.
  Expression integerCall(StringRef function, StringRef flags) const {
    Type type = op->getResult(0).getType();
    if (!type.isInteger(1))
      return call("heddle::" + function + "<" + computedType(type) + ">");
    std::string text;
    for (char c : flags)
      text += c == 'A'   ? at(0, Binding::unary)
              : c == 'B' ? at(1, Binding::unary)
                         : std::string(1, c);
    return {"bool(" + text + ")", Binding::primary};
  }
  Expression call(const Twine &function) const {
    std::string text = function.str() + "(";
    for (unsigned k = 0; k < op->getNumOperands(); ++k)
      text += (k ? ", " : "") + at(k, Binding::loosest);
    return {text + ")", Binding::primary};
  }
  /// A function of libm; the name of its float version ends in `f`.
  Expression library(StringRef name) const {
    return call(name + (op->getResult(0).getType().isF64() ? "" : "f"));
  }
  Expression cast() const {
    StringRef type = computedType(op->getResult(0).getType());
    for (Type side : {op->getOperand(0).getType(), op->getResult(0).getType()})
      if (side.isF16() || side.isBF16())
        return call("heddle::convert<" + type + ">");
    if (type.contains(' '))
      return {"static_cast<" + type.str() + ">(" + at(0, Binding::loosest) +
                  ")",
              Binding::primary};
    return {type.str() + "(" + at(0, Binding::loosest) + ")", Binding::primary};
  }
  std::optional<Expression> compareFloats(arith::CmpFPredicate predicate) const;
  std::optional<Expression> compareInts(arith::CmpIPredicate predicate) const;
  Expression constant(Attribute value) const;
  Expression extreme(StringRef sign, StringRef flags) const;
  Expression fromSigned() const;
  Expression fromUnsigned() const;

  // Operations with CODE in the column CUDA of the table.
  Expression special(arith::AddFOp add) const;
  Expression special(arith::NegFOp) const;
  std::optional<Expression> special(arith::CmpFOp op) const {
    return compareFloats(op.getPredicate());
  }
  std::optional<Expression> special(arith::CmpIOp op) const {
    return compareInts(op.getPredicate());
  }
  Expression special(arith::SelectOp) const;
  Expression special(arith::MaxSIOp) const { return extreme(" > ", "&"); }
  Expression special(arith::MinSIOp) const { return extreme(" < ", "|"); }
  Expression special(math::AbsIOp) const;
  Expression special(arith::ExtSIOp) const { return fromSigned(); }
  Expression special(arith::SIToFPOp) const { return fromSigned(); }
  Expression special(arith::ExtUIOp) const { return fromUnsigned(); }
  Expression special(arith::UIToFPOp) const { return fromUnsigned(); }
  Expression special(arith::TruncIOp op) const;
  Expression special(arith::FPToSIOp op) const;
  Expression special(arith::FPToUIOp op) const;
  Expression special(arith::BitcastOp op) const;
  Expression special(foreach::RoundOp op) const {
    return call("heddle::round_at_random<" + computedType(op.getTo()) + ">");
  }

  Operation *op;
  llvm::function_ref<Expression(Value)> operand;
};
} // namespace

static std::string floatLiteral(const APFloat &value, Type type) {
  bool isDouble = type.isF64();
  if (value.isNaN())
    return isDouble ? "heddle::not_a_number<double>()"
                    : "heddle::not_a_number<float>()";
  if (value.isInfinity())
    return std::string(value.isNegative() ? "-" : "") +
           (isDouble ? "heddle::infinity<double>()"
                     : "heddle::infinity<float>()");
  // The shortest digits that read back as the same value.
  SmallString<32> digits;
  value.toString(digits, /*FormatPrecision=*/0, /*FormatMaxPadding=*/4,
                 /*TruncateZero=*/true);
  if (StringRef(digits).find_first_of(".eE") == StringRef::npos)
    digits += ".0";
  if (!isDouble)
    digits += "f";
  return digits.str().str();
}

Expression Printer::constant(Attribute value) const {
  Type type = op->getResult(0).getType();
  if (auto number = dyn_cast<FloatAttr>(value)) {
    std::string text = floatLiteral(number.getValue(), type);
    return {text, text.front() == '-' ? Binding::unary : Binding::primary};
  }
  const APInt &number = llvm::cast<IntegerAttr>(value).getValue();
  if (type.isInteger(1))
    return {number.isZero() ? "false" : "true", Binding::primary};
  if (number.isMinSignedValue()) // has no literal
    return {"(-" + llvm::toString(number.abs() - 1, 10, false) +
                (type.isInteger(64) ? "ll" : "") + " - 1)",
            Binding::primary};
  std::string text = llvm::toString(number, 10, /*Signed=*/true);
  if (type.isInteger(64))
    text += "ll";
  return {text, number.isNegative() ? Binding::unary : Binding::primary};
}

std::optional<Expression>
Printer::compareFloats(arith::CmpFPredicate predicate) const {
  using P = arith::CmpFPredicate;
  auto simple = [&](StringRef sign) {
    return infix(sign, Binding::comparison);
  };
  auto negated = [&](StringRef sign) {
    return Expression{"!(" + simple(sign).text + ")", Binding::unary};
  };
  std::string a = at(0, Binding::unary), b = at(1, Binding::unary);
  switch (predicate) {
  case P::OEQ:
    return simple("==");
  case P::OGT:
    return simple(">");
  case P::OGE:
    return simple(">=");
  case P::OLT:
    return simple("<");
  case P::OLE:
    return simple("<=");
  case P::UNE:
    return simple("!=");
  case P::ONE:
    return Expression{a + " < " + b + " || " + a + " > " + b, Binding::loosest};
  case P::UEQ:
    return Expression{"!(" + a + " < " + b + " || " + a + " > " + b + ")",
                      Binding::unary};
  case P::UGT:
    return negated("<=");
  case P::UGE:
    return negated("<");
  case P::ULT:
    return negated(">=");
  case P::ULE:
    return negated(">");
  case P::ORD:
    if (a == b)
      return simple("==");
    return Expression{a + " == " + a + " && " + b + " == " + b,
                      Binding::loosest};
  case P::UNO:
    if (a == b)
      return simple("!=");
    return Expression{a + " != " + a + " || " + b + " != " + b,
                      Binding::loosest};
  case P::AlwaysTrue:
    return Expression{"true", Binding::primary};
  case P::AlwaysFalse:
    return Expression{"false", Binding::primary};
  }
  return std::nullopt;
}

std::optional<Expression>
Printer::compareInts(arith::CmpIPredicate predicate) const {
  using P = arith::CmpIPredicate;
  bool flags = op->getOperand(0).getType().isInteger(1);
  auto compare = [&](StringRef sign) {
    // The one bit of a flag is its sign, so true is the smaller flag.
    if (flags && sign.front() != '=' && sign.front() != '!')
      return Expression{at(1, Binding::unary) + " " + sign.str() + " " +
                            at(0, Binding::unary),
                        Binding::comparison};
    return infix(sign, Binding::comparison);
  };
  auto unsignedCompare = [&](StringRef sign) {
    std::string type = op->getOperand(0).getType().isInteger(64)
                           ? "unsigned long long"
                           : "unsigned";
    auto cast = [&](unsigned k) {
      return "static_cast<" + type + ">(" + at(k, Binding::loosest) + ")";
    };
    return Expression{cast(0) + " " + sign.str() + " " + cast(1),
                      Binding::comparison};
  };
  switch (predicate) {
  case P::eq:
    return compare("==");
  case P::ne:
    return compare("!=");
  case P::slt:
    return compare("<");
  case P::sle:
    return compare("<=");
  case P::sgt:
    return compare(">");
  case P::sge:
    return compare(">=");
  case P::ult:
    return unsignedCompare("<");
  case P::ule:
    return unsignedCompare("<=");
  case P::ugt:
    return unsignedCompare(">");
  case P::uge:
    return unsignedCompare(">=");
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operations with code of their own
//===----------------------------------------------------------------------===//

/// A sum, or with a product that may be contracted, a fused multiply-add.
Expression Printer::special(arith::AddFOp add) const {
  auto contracts = [](arith::FastMathFlags flags) {
    return bitEnumContainsAll(flags, arith::FastMathFlags::contract);
  };
  if (contracts(add.getFastmath()))
    for (unsigned k : {0u, 1u})
      if (auto product = op->getOperand(k).getDefiningOp<arith::MulFOp>();
          product && product->hasOneUse() && contracts(product.getFastmath())) {
        auto text = [&](Value value) { return operand(value).text; };
        StringRef name = add.getType().isF64() ? "fma" : "fmaf";
        return {(name + "(" + text(product.getLhs()) + ", " +
                 text(product.getRhs()) + ", " + at(1 - k, Binding::loosest) +
                 ")")
                    .str(),
                Binding::primary};
      }
  return infix("+", Binding::sum);
}

Expression Printer::special(arith::NegFOp) const {
  return {"-" + at(0, Binding::primary), Binding::unary};
}

Expression Printer::special(arith::SelectOp) const {
  return {at(0, Binding::comparison) + " ? " + at(1, Binding::comparison) +
              " : " + at(2, Binding::comparison),
          Binding::loosest};
}

/// The larger or the smaller integer. The one bit of a flag is its sign, so
/// `true` is the smaller flag.
Expression Printer::extreme(StringRef sign, StringRef flags) const {
  if (op->getResult(0).getType().isInteger(1))
    return ofFlags(flags);
  std::string a = at(0, Binding::unary), b = at(1, Binding::unary);
  return {a + sign.str() + b + " ? " + a + " : " + b, Binding::loosest};
}

Expression Printer::special(math::AbsIOp) const {
  std::string a = at(0, Binding::unary);
  return {a + " < 0 ? -" + a + " : " + a, Binding::loosest};
}

/// The one bit of a flag is its sign. The result is never a negative zero.
Expression Printer::fromSigned() const {
  if (!op->getOperand(0).getType().isInteger(1))
    return cast();
  StringRef type = computedType(op->getResult(0).getType());
  return {
      ("static_cast<" + type + ">(" + at(0, Binding::comparison) + " ? -1 : 0)")
          .str(),
      Binding::primary};
}

Expression Printer::fromUnsigned() const {
  Type from = op->getOperand(0).getType();
  if (from.isInteger(1))
    return cast();
  static const llvm::StringLiteral names[] = {"unsigned char", "unsigned short",
                                              "unsigned", "unsigned long long"};
  StringRef name = names[llvm::Log2_32(from.getIntOrFloatBitWidth()) - 3];
  StringRef to = computedType(op->getResult(0).getType());
  return {("static_cast<" + to + ">(static_cast<" + name + ">(" +
           at(0, Binding::loosest) + "))")
              .str(),
          Binding::primary};
}

Expression Printer::special(arith::TruncIOp op) const {
  if (op.getType().isInteger(1))
    return {"(" + at(0, Binding::unary) + " & 1) != 0", Binding::comparison};
  return cast();
}

/// The instruction of the device saturates from f32 to i32, and gives 0 for
/// NaN. A cast of C++ may compute anything out of range. A signed flag is -1 or
/// 0.
Expression Printer::special(arith::FPToSIOp op) const {
  if (op.getIn().getType().isF32() && op.getType().isInteger(32))
    return call("__float2int_rz");
  if (op.getType().isInteger(1))
    return {at(0, Binding::unary) + " <= -1", Binding::comparison};
  return call("heddle::saturated<" + computedType(op.getType()) + ">");
}

Expression Printer::special(arith::FPToUIOp op) const {
  if (op.getType().isInteger(1))
    return {at(0, Binding::unary) + " >= 1", Binding::comparison};
  return call("heddle::saturated_unsigned<" + computedType(op.getType()) + ">");
}

Expression Printer::special(arith::BitcastOp op) const {
  Type from = op.getIn().getType(), to = op.getType();
  if (isa<FloatType>(from) == isa<FloatType>(to))
    return operand(op.getIn());
  if (isa<FloatType>(from))
    return call(to.isInteger(32) ? "__float_as_int" : "__double_as_longlong");
  return call(to.isF32() ? "__int_as_float" : "__longlong_as_double");
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::optional<Expression> Printer::print() const {
  using Result = std::optional<Expression>;
#define INFIX(SIGN, BINDING) infix(SIGN, Binding::BINDING)
#define INTEGER(SIGN, BINDING, FLAGS) integer(SIGN, Binding::BINDING, FLAGS)
#define INTEGER_CALL(FUNCTION, FLAGS) integerCall(FUNCTION, #FLAGS)
#define BITS(SIGN) bits(SIGN)
#define CALL(FUNCTION) call(FUNCTION)
#define LIBM(FUNCTION) library(#FUNCTION)
#define CAST cast()
#define CODE special(scalar)
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
  .Case([&](OP scalar) -> Result { return CUDA; })
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp c) { return constant(c.getValue()); })
#include "dialect/ScalarOps.def"
      .Default([](Operation *) -> Result { return std::nullopt; });
#undef INFIX
#undef INTEGER
#undef INTEGER_CALL
#undef BITS
#undef CALL
#undef LIBM
#undef CAST
#undef CODE
}

std::optional<Expression>
printScalar(Operation *op, llvm::function_ref<Expression(Value)> operand) {
  return Printer(op, operand).print();
}

} // namespace heddle::cuda

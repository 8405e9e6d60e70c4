//===- Scalars.cpp - scalar operations as C++ expressions -----------------===//
//
// One case for each operation. Parentheses stand only where the grouping of the
// IR needs them: evaluation order is never changed.
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
  // Values that fusion took from a list of 16-bit floats are rounded as they
  // would have been in it.
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

  std::optional<Expression> print();

private:
  /// The text of operand `k`, in parentheses unless it binds at least as
  /// tightly as `least`.
  std::string at(unsigned k, Binding least) const {
    Expression e = operand(op->getOperand(k));
    return e.binding >= least ? e.text : "(" + e.text + ")";
  }
  Expression infix(StringRef sign, Binding binding) const {
    // Left-associative: the right operand must bind tighter, so that the
    // grouping (and with it the rounding) is that of the IR.
    auto tighter = static_cast<Binding>(binding + 1);
    return {at(0, binding) + " " + sign.str() + " " + at(1, tighter), binding};
  }
  Expression ofFlags(StringRef sign) const {
    return {"bool(" + at(0, Binding::unary) + " " + sign.str() + " " +
                at(1, Binding::unary) + ")",
            Binding::primary};
  }
  /// Integers wrap: where C++ would compute in a wider type, the result is cut,
  /// and flags have an operator of their own.
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
  Expression call(const Twine &function) const {
    std::string text = function.str() + "(";
    for (unsigned k = 0; k < op->getNumOperands(); ++k)
      text += (k ? ", " : "") + at(k, Binding::loosest);
    return {text + ")", Binding::primary};
  }
  /// A function of libm, whose float version ends in `f`.
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
  // The shortest digits that read back as the same number.
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
  const APInt &number = cast<IntegerAttr>(value).getValue();
  if (type.isInteger(1))
    return {number.isZero() ? "false" : "true", Binding::primary};
  if (number.isMinSignedValue()) // has no literal of its own
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
    return Expression{a + " == " + a + " && " + b + " == " + b,
                      Binding::loosest};
  case P::UNO:
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
    // Of flags, whose one bit is their sign, true is the smaller.
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

std::optional<Expression> Printer::print() {
  using Result = std::optional<Expression>;
  auto contract = [&] {
    auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
    return flags &&
           bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::contract);
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp c) { return constant(c.getValue()); })
      .Case([&](arith::AddFOp) -> Result {
        // A product that may be contracted is an fma, spelled out: the
        // compiler itself contracts nothing.
        for (unsigned k : {0u, 1u})
          if (auto product = op->getOperand(k).getDefiningOp<arith::MulFOp>();
              product && product->hasOneUse() && contract() &&
              bitEnumContainsAll(product.getFastmath(),
                                 arith::FastMathFlags::contract)) {
            auto text = [&](Value value) { return operand(value).text; };
            StringRef name =
                op->getResult(0).getType().isF64() ? "fma" : "fmaf";
            return Expression{(name + "(" + text(product.getLhs()) + ", " +
                               text(product.getRhs()) + ", " +
                               at(1 - k, Binding::loosest) + ")")
                                  .str(),
                              Binding::primary};
          }
        return infix("+", Binding::sum);
      })
      .Case([&](arith::SubFOp) { return infix("-", Binding::sum); })
      .Case([&](arith::MulFOp) { return infix("*", Binding::product); })
      .Case([&](arith::DivFOp) { return infix("/", Binding::product); })
      .Case([&](arith::NegFOp) {
        return Expression{"-" + at(0, Binding::primary), Binding::unary};
      })
      .Case([&](arith::MaximumFOp) { return call("heddle::maximum"); })
      .Case([&](arith::MinimumFOp) { return call("heddle::minimum"); })
      .Case([&](arith::MaxNumFOp) { return library("fmax"); })
      .Case([&](arith::MinNumFOp) { return library("fmin"); })
      .Case([&](arith::CmpFOp c) { return compareFloats(c.getPredicate()); })
      .Case([&](arith::CmpIOp c) { return compareInts(c.getPredicate()); })
      .Case([&](arith::SelectOp) {
        return Expression{at(0, Binding::comparison) + " ? " +
                              at(1, Binding::comparison) + " : " +
                              at(2, Binding::comparison),
                          Binding::loosest};
      })
      .Case([&](arith::AddIOp) { return integer("+", Binding::sum, "^"); })
      .Case([&](arith::SubIOp) { return integer("-", Binding::sum, "^"); })
      .Case([&](arith::MulIOp) { return integer("*", Binding::product, "&"); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](Operation *) {
        StringRef sign = isa<arith::AndIOp>(op)  ? " & "
                         : isa<arith::OrIOp>(op) ? " | "
                                                 : " ^ ";
        std::string text =
            at(0, Binding::unary) + sign.str() + at(1, Binding::unary);
        if (op->getResult(0).getType().isInteger(1))
          return Expression{"bool(" + text + ")", Binding::primary};
        return Expression{text, Binding::loosest};
      })
      .Case<arith::MaxSIOp, arith::MinSIOp>([&](Operation *) {
        // Of flags, whose one bit is their sign, true is the smaller.
        bool most = isa<arith::MaxSIOp>(op);
        if (op->getResult(0).getType().isInteger(1))
          return ofFlags(most ? "&" : "|");
        StringRef sign = most ? " > " : " < ";
        std::string a = at(0, Binding::unary), b = at(1, Binding::unary);
        return Expression{a + sign.str() + b + " ? " + a + " : " + b,
                          Binding::loosest};
      })
      .Case<arith::ExtSIOp, arith::SIToFPOp>([&](Operation *) -> Result {
        // The one bit of a flag is its sign; there is no negative zero.
        if (op->getOperand(0).getType().isInteger(1)) {
          StringRef type = computedType(op->getResult(0).getType());
          return Expression{("static_cast<" + type + ">(" +
                             at(0, Binding::comparison) + " ? -1 : 0)")
                                .str(),
                            Binding::primary};
        }
        return cast();
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::FPToSIOp>(
          [&](Operation *) { return cast(); })
      .Case<arith::ExtUIOp, arith::UIToFPOp>([&](Operation *) -> Result {
        Type from = op->getOperand(0).getType();
        if (from.isInteger(1))
          return cast();
        static const llvm::StringLiteral names[] = {
            "unsigned char", "unsigned short", "unsigned",
            "unsigned long long"};
        StringRef name = names[llvm::Log2_32(from.getIntOrFloatBitWidth()) - 3];
        StringRef to = computedType(op->getResult(0).getType());
        return Expression{("static_cast<" + to + ">(static_cast<" + name +
                           ">(" + at(0, Binding::loosest) + "))")
                              .str(),
                          Binding::primary};
      })
      .Case([&](arith::TruncIOp) -> Result {
        if (op->getResult(0).getType().isInteger(1))
          return Expression{"(" + at(0, Binding::unary) + " & 1) != 0",
                            Binding::comparison};
        return cast();
      })
      .Case([&](math::SqrtOp) { return library("sqrt"); })
      .Case([&](math::RsqrtOp) {
        return Expression{
            (op->getResult(0).getType().isF64() ? "1.0 / " : "1.0f / ") +
                library("sqrt").text,
            Binding::product};
      })
      .Case([&](math::ExpOp) { return library("exp"); })
      .Case([&](math::Exp2Op) { return library("exp2"); })
      .Case([&](math::ExpM1Op) { return library("expm1"); })
      .Case([&](math::LogOp) { return library("log"); })
      .Case([&](math::Log2Op) { return library("log2"); })
      .Case([&](math::Log1pOp) { return library("log1p"); })
      .Case([&](math::AbsFOp) { return library("fabs"); })
      .Case([&](math::AbsIOp) {
        std::string a = at(0, Binding::unary);
        return Expression{a + " < 0 ? -" + a + " : " + a, Binding::loosest};
      })
      .Case([&](math::FPowIOp) { return call("heddle::powi"); })
      .Case([&](math::PowFOp) { return library("pow"); })
      .Case([&](math::TanhOp) { return library("tanh"); })
      .Case([&](math::SinOp) { return library("sin"); })
      .Case([&](math::CosOp) { return library("cos"); })
      .Case([&](math::ErfOp) { return library("erf"); })
      .Case([&](math::FloorOp) { return library("floor"); })
      .Case([&](math::CeilOp) { return library("ceil"); })
      .Case([&](math::FmaOp) { return library("fma"); })
      .Case([&](math::CopySignOp) { return library("copysign"); })
      .Case([&](math::IsNaNOp) { return call("isnan"); })
      .Case([&](math::IsInfOp) { return call("isinf"); })
      .Case([&](math::IsFiniteOp) { return call("isfinite"); })
      .Case([&](foreach::SignOp) { return call("heddle::sign"); })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

std::optional<Expression>
printScalar(Operation *op, llvm::function_ref<Expression(Value)> operand) {
  return Printer(op, operand).print();
}

} // namespace heddle::cuda

//===- PanelPrint.cpp - statements of a panel loop ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints functions, declarations of the values that a phase uses, and exponents
// as sums of terms.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;
using llvm::Twine;

namespace heddle::cuda {

void PanelEmitter::beginFunction(StringRef comment, const Twine &head) {
  scope = globals;
  homes.clear();
  for (auto &[value, name] : scalarFields)
    scope.bind(value, prefix(name));
  functions += take();
  functionComment = comment.str();
  functionHead = head.str();
  os.indent();
}

/// Whether `text` uses the identifier `name`, other than as a field of a value.
static bool usesName(StringRef text, StringRef name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = 0; (at = text.find(name, at)) != StringRef::npos;) {
    bool begins = at == 0 || !(isWord(text[at - 1]) || text[at - 1] == '.' ||
                               text[at - 1] == ':');
    at += name.size();
    if (begins && (at == text.size() || !isWord(text[at])))
      return true;
  }
  return false;
}

void PanelEmitter::endFunction() {
  os.unindent();
  std::string code = take();
  auto [name, parameters] = StringRef(functionHead).split('(');
  SmallVector<StringRef> all;
  parameters.drop_back().split(all, ", ");
  SmallVector<std::string> taken, given;
  for (StringRef parameter : all) {
    StringRef own = parameter.drop_front(parameter.find_last_of(" &*") + 1);
    if (!isOutlined && !usesName(code, own))
      continue;
    taken.push_back(parameter.str());
    given.push_back(own.str());
  }
  StringRef called = name.drop_front(name.find(' ') + 1);
  callsOf[called] = (called + "(" + llvm::join(given, ", ") + ")").str();
  std::string head = std::string("__device__ ") +
                     (isOutlined ? "__noinline__ " : "__forceinline__ ") +
                     name.str() + "(";
  functions += "// " + functionComment + "\n" +
               DeviceFunctions::wrapped(head, taken, ") {") + "\n" + code +
               "}\n\n";
}

void PanelEmitter::open(const Twine &line) {
  os << line.str() << "\n";
  os.indent();
}

void PanelEmitter::close(StringRef end) { os.unindent() << end << "\n"; }

LogicalResult PanelEmitter::declareNeeded(ArrayRef<Value> roots) {
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> left(roots);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || scope.contains(value) || !needed.insert(op).second)
      continue;
    if (auto record = dyn_cast<fused::RecordOp>(op))
      left.push_back(record.getValue());
    else
      llvm::append_range(left, op->getOperands());
  }
  // An unnamed value with one use among `needed` is printed at that use.
  auto isInlined = [&](Operation *op) {
    Value result = op->getResult(0);
    return nameOf(result).empty() && result.hasOneUse() &&
           !llvm::is_contained(roots, result) &&
           needed.contains(*result.user_begin());
  };
  for (Operation &op : body.without_terminator()) {
    if (!needed.contains(&op) ||
        isa<arith::ConstantOp, foreach::IterationOp, fused::RecordOp>(op))
      continue;
    if (isa<fused::ReduceOp>(op))
      return op.emitOpError("is needed before it is complete");
    if (isInlined(&op))
      continue;
    auto printed = printOp(&op);
    if (!printed)
      return op.emitOpError("has no CUDA equivalent");
    declareResult(op.getResult(0), printed->text);
  }
  return success();
}

Expression PanelEmitter::extentAlong(foreach::Axis axis) const {
  if (axis == foreach::Axis::j)
    return {"member().columns", Expression::primary};
  if (axis == foreach::Axis::i)
    return {"member().count", Expression::primary};
  return {"member().count * member().columns", Expression::product};
}

llvm::SetVector<Value> PanelEmitter::inputsOf(ArrayRef<Value> roots,
                                              Level level) {
  llvm::SetVector<Value> inputs;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left(roots);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (scope.contains(value) || !seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(left, op->getOperands());
    else if (levels.of(value).level == level)
      inputs.insert(value);
  }
  SmallVector<Value> sorted = inputs.takeVector();
  llvm::sort(sorted, [](Value a, Value b) {
    return cast<BlockArgument>(a).getArgNumber() <
           cast<BlockArgument>(b).getArgNumber();
  });
  return llvm::SetVector<Value>(sorted.begin(), sorted.end());
}

unsigned PanelEmitter::slotOf(Value argument) const {
  return slots.inputs[cast<BlockArgument>(argument).getArgNumber()];
}

/// Declares the value of an argument, loaded from `at`; zero unless `there`.
void PanelEmitter::declareInput(Value argument, const Twine &at,
                                StringRef there) {
  StringRef type = computedType(argument.getType());
  std::string load = ("heddle::convert<" + type + ">(" + at + ")").str();
  os << "const " << type << ' ' << scope.declare(argument) << " = ";
  if (there.empty())
    os << load << ";\n";
  else
    os << there << " ? " << load << " : 0;\n";
}

LogicalResult PanelEmitter::declareRowsAfter(ArrayRef<Value> roots) {
  for (Value value : rowValues)
    if (!scope.contains(value))
      scope.bind(value, rowArrays[value] + "[r]");
  return declareNeeded(roots);
}

std::string PanelEmitter::number(double value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.17g", value);
  if (text.find_first_of(".en") == std::string::npos)
    text += ".0";
  return text;
}

SmallVector<Value> PanelEmitter::valuesOf(ArrayRef<fused::Term> terms) {
  SmallVector<Value> values;
  for (const fused::Term &term : terms) {
    values.push_back(term.value);
    for (const fused::Factor &factor : term.factors)
      values.push_back(factor.value);
  }
  return values;
}

/// The sum of the terms, whose values are in scope; empty without terms.
std::string PanelEmitter::sumOf(ArrayRef<fused::Term> terms, StringRef type) {
  std::string text;
  for (const fused::Term &term : terms) {
    std::string product = expression(term.value).text;
    bool isNegative = StringRef(product).starts_with("-");
    if (expression(term.value).binding < Expression::product || isNegative)
      product = "(" + product + ")";
    for (const fused::Factor &factor : term.factors)
      product +=
          (factor.reciprocal ? " / " : " * ") + expression(factor.value).text;
    double scale = term.scale;
    StringRef sign =
        text.empty() ? (scale < 0 ? "-" : "") : (scale < 0 ? " - " : " + ");
    if (scale = std::abs(scale); scale != 1)
      product =
          "static_cast<" + type.str() + ">(" + number(scale) + ") * " + product;
    text += sign.str() + product;
  }
  return text;
}

/// The sum of `base` and the element terms, in base 2.
std::string PanelEmitter::argumentInBaseTwo(const Exponential &sum,
                                            const Twine &base) {
  std::string text = base.str();
  for (auto [term, factor] : llvm::zip(sum.exponent.element, sum.factors))
    text = "heddle::multiply_add(" + expression(term.value).text + ", " +
           prefix(factor) + ", " + text + ")";
  return text;
}

} // namespace heddle::cuda

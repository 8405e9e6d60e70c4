//===- StreamBranchless.cpp - elements computed without branches ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the elements of a stream sweep whose divisions and square roots have
// the forms of codegen/device/branchless.cuh. A function computes one element,
// with these forms or with the exact operations. A thread whose elements are
// out of range computes them again.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/StreamEmitter.h"
#include "codegen/layout/BranchlessMath.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// Whether `value` is a root that is only divided by scalars. It is computed
/// with the quotients.
bool StreamEmitter::isDividedRoot(Value value) const {
  auto root = value.getDefiningOp<math::SqrtOp>();
  return root && hasBranchlessForm(root) && isElement(root) &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           return isa<arith::DivFOp>(use.getOwner()) &&
                  use.getOperandNumber() == 0 &&
                  levels.of(use.getOwner()->getOperand(1)).level <=
                      Level::member;
         });
}

bool StreamEmitter::isInQuotient(Operation *op) const {
  return !math.empty() && isa<math::SqrtOp>(op) &&
         isDividedRoot(op->getResult(0));
}

std::optional<Expression> StreamEmitter::printOp(Operation *op) {
  if (math.empty() || !hasBranchlessForm(op) || !isElement(op))
    return SegmentEmitter::printOp(op);
  Value first = op->getOperand(0);
  std::string call;
  if (isa<math::SqrtOp>(op))
    call = ".root(" + text(first);
  else if (isDividedRoot(first))
    call = ".divide_root(" + text(first.getDefiningOp()->getOperand(0)) + ", " +
           divisors.lookup(op->getOperand(1));
  else
    call = ".divide(" + text(first) + ", " + text(op->getOperand(1));
  return Expression{math + call + ")", Expression::primary};
}

/// Prints the function that computes an element. Its parameters are the element
/// of each operand, of each result that replaces no operand, and scalars.
LogicalResult StreamEmitter::emitElementFunction() {
  isBranchless = usesBranchlessMath(sweep, segment);
  if (!isBranchless)
    return success();
  beginFunction();
  math = scope.freshOwn("math");
  SmallVector<DeviceFunctions::Parameter> parameters = {
      {"heddle::element_math &", math}};
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs))
    if (isElementArgument(argument))
      parameters.push_back({computedType(heldType(slots.operands[slot])).str(),
                            scope.declare(argument, "x")});
  for (foreach::RandomOp op : drawnNumbers()) {
    std::string name = scope.declare(op, "random");
    numbers.emplace_back(op, name);
    parameters.push_back({computedType(op.getType()).str(), name});
  }
  assignOutputs("", /*declare=*/false);
  auto yield = sweep.getSegmentYield(segment);
  for (auto [value, name] : llvm::zip(yield.getValues(), outputs)) {
    auto known = llvm::find_if(
        parameters, [&](auto &parameter) { return parameter.name == name; });
    if (name.empty())
      continue;
    if (known == parameters.end())
      known = parameters.insert(parameters.end(),
                                {computedType(value.getType()).str(), name});
    known->type += " &";
  }
  declareScalarParameters(parameters);
  if (failed(emitElement("")))
    return failure();
  for (auto [value, name, assigned] :
       llvm::zip(yield.getValues(), outputs, isAssigned))
    if (!name.empty() && !assigned)
      os << name << " = " << text(value) << ";\n";
  math.clear();
  names.functions->end("Computes an element.", "void", functionName("element"),
                       parameters);
  return success();
}

/// Adds the scalars that operations of elements use, and the divisors of roots,
/// to the parameters of the function that computes an element.
void StreamEmitter::declareScalarParameters(
    SmallVectorImpl<DeviceFunctions::Parameter> &parameters) {
  auto add = [&](Value value) {
    if (levels.of(value).level > Level::member || scope.contains(value) ||
        value.getDefiningOp<arith::ConstantOp>())
      return;
    std::string name = scope.declare(value, "scalar");
    scalars.push_back({value, name});
    parameters.push_back({computedType(value.getType()).str(), name});
  };
  for (Operation &op : body) {
    if (&op == body.getTerminator()) {
      for (auto [value, name] : llvm::zip(op.getOperands(), outputs))
        if (!name.empty())
          add(value);
    } else if (isElement(&op) && !scope.contains(op.getResult(0))) {
      llvm::for_each(op.getOperands(), add);
    }
  }
  for (Operation &op : body) {
    if (!isa<arith::DivFOp>(op) || !isDividedRoot(op.getOperand(0)))
      continue;
    std::string &name = divisors[op.getOperand(1)];
    if (!name.empty())
      continue;
    name = scope.fresh("by_" + scope[op.getOperand(1)]);
    parameters.push_back({"const heddle::root_divisor &", name});
  }
}

/// Prints the computation on the elements that a thread holds.
void StreamEmitter::emitBranchlessRound() {
  assignOutputs("[k]");
  homes.clear();
  drawNumbers();
  std::string object = scope.freshOwn("math");
  os << "heddle::element_math " << object << " = {true" << inRange << "};\n"
     << "#pragma unroll\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    emitCall(object, "[k]");
  }
  os.unindent() << "}\n"
                << "if (" << object << ".exact) {\n";
  os.indent();
  storeElements();
  os.unindent() << "} else {\n";
  os.indent();
  emitElementByElement();
  os.unindent() << "}\n";
}

/// Prints the computation with branches on the elements of a thread, one after
/// the other: it is rarely executed, so it needs few registers instead.
void StreamEmitter::emitElementByElement() {
  Scope::Nested block(scope);
  std::string object = scope.freshOwn("math"), at = scope.freshOwn("at");
  os << "heddle::element_math " << object << " = {false};\n"
     << "#pragma unroll 1\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  os << "const int " << at << " = heddle::position<false, " << layout.threads
     << ", " << slots.vector << ">(whole, k" << (repeats() > 1 ? ", round" : "")
     << ");\n"
     << "if (" << at << " >= tile.count)\n  break;\n";
  emitCall(object, at);
  os.unindent() << "}\n";
}

/// Prints the computation of one element: the element `at` in memory or, for
/// "[k]", that of the thread.
void StreamEmitter::emitCall(const std::string &object, StringRef at) {
  bool inMemory = at != "[k]";
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<std::pair<std::string, std::string>> replaced = {
      {"math", object}};
  std::string after;
  auto pass = [&](int slot, const std::string &array, bool isLoaded,
                  std::optional<unsigned> result) {
    const OperandSlot &operand = slots.operands[slot];
    std::string element = array + at.str(),
                memory = pointers[slot] + "[" + at.str() + "]";
    if (!inMemory && !isPacked(operand)) {
      replaced.push_back({array, element});
      return;
    }
    Type type =
        result ? yield.getValues()[*result].getType() : heldType(operand);
    std::string name = scope.fresh(array + (inMemory ? "_there" : "_k"));
    os << (result ? "" : "const ") << computedType(type) << ' ' << name;
    if (isLoaded)
      os << " = "
         << (inMemory ? converted(memory, operand.storage, type) : element);
    os << ";\n";
    if (result)
      after += inMemory ? memory + " = " +
                              converted(name, type, operand.storage) + ";\n"
                        : array + ".set(k, " + name + ");\n";
    replaced.push_back({array, name});
  };
  auto resultOf = [&](StringRef array) -> std::optional<unsigned> {
    auto found = llvm::find(outputs, array);
    if (found == outputs.end())
      return std::nullopt;
    return found - outputs.begin();
  };
  llvm::SmallVector<std::string> arrays;
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs))
    if (isElementArgument(argument)) {
      arrays.push_back(scope[argument]);
      pass(slot, arrays.back(), true, resultOf(arrays.back()));
    }
  for (auto [k, array] : llvm::enumerate(outputs))
    if (!array.empty() && !llvm::is_contained(arrays, array))
      pass(slots.results[k], array, false, k);
  for (auto &[op, name] : numbers)
    replaced.push_back({name, inMemory ? numberAt(op, at) : scope[op] + "[k]"});
  for (auto &[value, name] : scalars)
    replaced.push_back({name, text(value)});
  SmallVector<std::pair<StringRef, StringRef>> pairs(replaced.begin(),
                                                     replaced.end());
  os << names.functions->call(functionName("element"), pairs) << ";\n" << after;
}

/// Declares the divisors of roots.
void StreamEmitter::declareDivisors() {
  for (auto &[value, name] : scalars) {
    std::string divisor = divisors.lookup(value);
    if (divisor.empty())
      continue;
    os << "const heddle::root_divisor " << divisor
       << " = heddle::divisor_of_roots(" << text(value) << ");\n";
    inRange += (inRange.empty() ? ", " : " && ") + divisor + ".exact";
  }
}

} // namespace heddle::cuda

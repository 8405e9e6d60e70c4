//===- Interpreter.cpp - the reference interpreter ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments, operations in order, and results of a function.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Interpreter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "dialect/reference/Evaluator.h"
#include "dialect/reference/Rounding.h"
#include "runtime/support/Text.h"

#include <algorithm>
#include <optional>

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle::reference {

void Evaluator::allocate(Tensor &tensor, int64_t size) {
  tensor.data.resize(size);
  if (options.arithmetic != Arithmetic::bounded)
    return;
  tensor.low.resize(size);
  tensor.high.resize(size);
}

LogicalResult Evaluator::evaluate(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || elements.getType().getRank() != 0)
    return op.emitOpError("is not a constant that the interpreter supports");
  double number = isa<FloatType>(elements.getElementType())
                      ? elements.getSplatValue<FloatAttr>().getValueAsDouble()
                      : static_cast<double>(wrap(
                            elements.getSplatValue<APInt>().getSExtValue(),
                            elements.getElementType().getIntOrFloatBitWidth()));
  define(op.getResult(), std::make_shared<Value>(Value::scalar(number)));
  return success();
}

LogicalResult Evaluator::evaluate(Operation &op) {
  if (auto map = dyn_cast<foreach::MapOp>(op))
    return evaluate(map);
  if (auto reduce = dyn_cast<foreach::ReduceOp>(op))
    return evaluate(reduce);
  if (auto loop = dyn_cast<foreach::WhileOp>(op))
    return evaluate(loop);
  if (auto record = dyn_cast<foreach::RecordOp>(op))
    return evaluate(record);
  if (auto branch = dyn_cast<foreach::IfOp>(op))
    return evaluate(branch);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return evaluate(constant);
  return op.emitOpError("is not an operation that the interpreter supports");
}

LogicalResult Evaluator::evaluate(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (failed(evaluate(op)))
      return failure();
    freeUnused(op);
  }
  return success();
}

/// Frees the operands of `op` without a later use, because lists are large.
void Evaluator::freeUnused(Operation &op) {
  Block *block = op.getBlock();
  for (mlir::Value operand : op.getOperands()) {
    bool last = operand.getParentBlock() == block &&
                llvm::all_of(operand.getUsers(), [&](Operation *user) {
                  Operation *there = block->findAncestorOpInBlock(*user);
                  return there == &op || there->isBeforeInBlock(&op);
                });
    if (last)
      environment.erase(operand);
  }
}

LogicalResult Evaluator::checkArgument(unsigned number, Value &value) {
  BlockArgument argument = function.getArgument(number);
  Type type = argument.getType();
  auto error = [&]() {
    InFlightDiagnostic diagnostic = function.emitOpError("argument #");
    diagnostic << number;
    if (StringRef name = nameOf(argument); !name.empty())
      diagnostic << " '" << name << "'";
    diagnostic << ' ';
    return diagnostic;
  };
  if (!isList(type) && value.members.size() != 1)
    return error() << "is a device scalar, one member; found "
                   << value.members.size();
  const Flags none;
  const Flags &missing =
      number < options.inactive.size() ? options.inactive[number] : none;
  for (auto [k, tensor] : llvm::enumerate(value.members)) {
    if (k < missing.size() && missing[k])
      continue;
    int64_t size = 1;
    for (int64_t extent : tensor.extents)
      size *= extent;
    if (size != tensor.size())
      return error() << "has " << counted(tensor.size(), "element")
                     << " in member " << k << "; its extents give " << size;
    if (rankOf(type) == 0 && size != 1)
      return error() << "has " << counted(size, "element") << " in member " << k
                     << "; expected 1";
    for (auto *plane : {&tensor.data, &tensor.low, &tensor.high})
      roundAll(storageType(type), plane->data(),
               static_cast<int64_t>(plane->size()));
  }
  return success();
}

void Evaluator::markInactive(unsigned number, const Value &value) {
  BlockArgument argument = function.getArgument(number);
  if (number >= options.inactive.size() || !isList(argument.getType()))
    return;
  Flags &flags = inactive[families.of(argument)];
  const Flags &missing = options.inactive[number];
  flags.resize(std::max(flags.size(), value.members.size()));
  for (size_t k = 0; k < std::min(missing.size(), flags.size()); ++k)
    flags[k] = flags[k] || missing[k];
}

FailureOr<std::vector<Value>> Evaluator::run(std::vector<Value> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("has ")
           << counted(function.getNumArguments(), "argument")
           << "; found values for " << arguments.size();
  auto end = dyn_cast_or_null<func::ReturnOp>(
      function.isExternal() ? nullptr
                            : function.getBody().front().getTerminator());
  if (!end || !function.getBody().hasOneBlock())
    return function.emitOpError("is not a program: expected one block that "
                                "returns");
  // Inactive members of donated arguments keep their elements.
  llvm::DenseMap<unsigned, std::shared_ptr<Value>> replaced;
  for (auto [k, value] : llvm::enumerate(arguments)) {
    if (failed(checkArgument(k, value)))
      return failure();
    markInactive(k, value);
    auto data = std::make_shared<Value>(std::move(value));
    define(function.getArgument(k), data);
    auto result =
        function.getArgAttrOfType<IntegerAttr>(k, foreach::kDonateAttr);
    if (result && inactive.count(families.of(function.getArgument(k))))
      replaced[result.getInt()] = data;
  }
  if (failed(evaluate(function.getBody().front())))
    return failure();

  std::vector<Value> results;
  for (auto [k, operand] : llvm::enumerate(end.getOperands())) {
    auto data = environment.lookup(operand);
    // The data moves if only this reference and the environment's exist.
    bool last =
        data.use_count() == 2 && llvm::count(end.getOperands(), operand) == 1;
    Value result = last ? std::move(*data) : *data;
    if (auto kept = replaced.lookup(k))
      for (size_t member = 0; member < result.members.size(); ++member)
        if (isInactive(operand, member))
          result.members[member] = kept->members[member];
    results.push_back(std::move(result));
  }
  return results;
}

FailureOr<std::vector<Value>> interpret(func::FuncOp function,
                                        std::vector<Value> arguments,
                                        const InterpretOptions &options) {
  return Evaluator(function, options).run(std::move(arguments));
}

} // namespace heddle::reference

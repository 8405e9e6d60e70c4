//===- IrMutator.cpp - Mutations of parsed programs -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IrMutator.h"
#include "SharedContext.h"

#include "dialect/ProgramChecks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace heddle::fuzz {

namespace {

class Mutation {
public:
  Mutation(ModuleOp module, std::mt19937 &random)
      : module(module), random(random) {}

  /// Returns whether every operand has a value. If not, the module cannot be
  /// printed or copied.
  bool apply() {
    change();
    collect();
    return repair();
  }

private:
  void change() {
    collect();
    if (ops.empty())
      return;
    Operation *op = ops[pick(ops.size())];
    switch (pick(9)) {
    case 0:
    case 1:
      return changeOperand(op);
    case 2:
    case 3:
      return changeAttribute(op);
    case 4:
      return changeType();
    case 5:
      op->getBlock()->getOperations().insert(std::next(op->getIterator()),
                                             op->clone());
      return;
    case 6:
      return erase(op);
    case 7:
      return move(op);
    default:
      return copyRegion(op);
    }
  }

  size_t pick(size_t count) { return random() % count; }

  /// Gives operands whose value was erased another value. Returns false if
  /// there is none.
  bool repair() {
    for (Operation *op : ops)
      for (OpOperand &operand : op->getOpOperands()) {
        if (operand.get())
          continue;
        if (values.empty())
          return false;
        operand.set(values[pick(values.size())]);
      }
    return true;
  }

  void collect() {
    ops.clear();
    values.clear();
    module->walk([&](Operation *op) {
      if (op == module)
        return;
      ops.push_back(op);
      llvm::append_range(values, op->getResults());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::append_range(values, block.getArguments());
    });
  }

  /// Another value of the same type, if there is one; sometimes of any type.
  /// Without a value, because an earlier change erased it, of any type.
  Value otherValue(Value value) {
    bool anyType = !value || pick(8) == 0;
    for (int tries = 0; tries < 50 && !values.empty(); ++tries) {
      Value other = values[pick(values.size())];
      if (other != value && (anyType || other.getType() == value.getType()))
        return other;
    }
    return {};
  }

  void changeOperand(Operation *op) {
    if (op->getNumOperands() == 0)
      return;
    unsigned at = pick(op->getNumOperands());
    if (pick(6) == 0)
      op->eraseOperand(at);
    else if (Value other = otherValue(op->getOperand(at)))
      op->setOperand(at, other);
  }

  Attribute oddNumber(Type type) {
    static constexpr int64_t numbers[] = {
        0,       -1,        1,         2,         7,        16,
        1 << 16, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    if (isa<FloatType>(type))
      return FloatAttr::get(
          type, static_cast<double>(numbers[pick(std::size(numbers))]));
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    APInt number(64, numbers[pick(std::size(numbers))], /*isSigned=*/true);
    return IntegerAttr::get(type, number.sextOrTrunc(width));
  }

  Attribute changed(Attribute attribute) {
    if (auto number = dyn_cast<IntegerAttr>(attribute))
      return oddNumber(number.getType());
    if (auto number = dyn_cast<FloatAttr>(attribute))
      return oddNumber(number.getType());
    if (auto array = dyn_cast<DenseI32ArrayAttr>(attribute)) {
      SmallVector<int32_t> numbers(array.asArrayRef());
      if (numbers.empty() || pick(4) == 0)
        numbers.push_back(1);
      else
        numbers[pick(numbers.size())] += pick(3) - 1;
      return DenseI32ArrayAttr::get(module.getContext(), numbers);
    }
    if (auto array = dyn_cast<ArrayAttr>(attribute)) {
      SmallVector<Attribute> elements(array.getValue());
      if (elements.empty())
        elements.push_back(attribute);
      else if (size_t at = pick(elements.size()); pick(3) == 0)
        elements.erase(elements.begin() + at);
      else if (pick(2))
        elements.push_back(elements[at]);
      else
        elements[at] = changed(elements[at]);
      return ArrayAttr::get(module.getContext(), elements);
    }
    if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
      NamedAttrList entries(dictionary);
      if (!entries.empty()) {
        NamedAttribute entry = entries.begin()[pick(dictionary.size())];
        if (pick(3) == 0)
          entries.erase(entry.getName());
        else
          entries.set(entry.getName(), changed(entry.getValue()));
      }
      return entries.getDictionary(module.getContext());
    }
    // Another attribute of the program, of any kind.
    Operation *other = ops[pick(ops.size())];
    ArrayRef<NamedAttribute> all = other->getAttrDictionary().getValue();
    return all.empty() ? attribute : all[pick(all.size())].getValue();
  }

  void changeAttribute(Operation *op) {
    SmallVector<NamedAttribute> all(op->getAttrDictionary().getValue());
    if (all.empty())
      return;
    NamedAttribute entry = all[pick(all.size())];
    if (pick(5) == 0)
      op->removeAttr(entry.getName());
    else
      op->setAttr(entry.getName(), changed(entry.getValue()));
  }

  /// Gives a value the type of another value.
  void changeType() {
    if (values.empty())
      return;
    Value value = values[pick(values.size())];
    value.setType(values[pick(values.size())].getType());
  }

  void erase(Operation *op) {
    for (Value result : op->getResults()) {
      if (result.use_empty())
        continue;
      Value other = otherValue(result);
      if (!other || other.getDefiningOp() == op)
        return;
      result.replaceAllUsesWith(other);
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        block.dropAllDefinedValueUses();
    op->walk([](Operation *inner) {
      inner->dropAllReferences();
      inner->dropAllUses();
    });
    op->erase();
  }

  void move(Operation *op) {
    Operation *before = ops[pick(ops.size())];
    if (before != op && !op->isAncestor(before))
      op->moveBefore(before);
  }

  /// Replaces a region by a copy of another.
  void copyRegion(Operation *op) {
    Operation *from = ops[pick(ops.size())];
    if (!op->getNumRegions() || !from->getNumRegions() || op == from ||
        op->isAncestor(from) || from->isAncestor(op))
      return;
    Region &target = op->getRegion(pick(op->getNumRegions()));
    Region &source = from->getRegion(pick(from->getNumRegions()));
    if (&target == &source)
      return;
    // An operation outside may use a value of the replaced region.
    target.walk([](Operation *inner) { inner->dropAllUses(); });
    for (Block &block : target)
      block.dropAllDefinedValueUses();
    target.dropAllReferences();
    target.getBlocks().clear();
    collect();
    if (!repair())
      return;
    IRMapping mapping;
    source.cloneInto(&target, mapping);
  }

  ModuleOp module;
  std::mt19937 &random;
  SmallVector<Operation *> ops;
  SmallVector<Value> values;
};

} // namespace

std::optional<std::string> mutateIr(std::string_view text,
                                    std::mt19937 &random) {
  if (checkText(text))
    return std::nullopt;
  static SharedContext shared;
  MLIRContext &context = shared.get();
  context.allowUnregisteredDialects();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module)
    return std::nullopt;
  Mutation mutation(*module, random);
  bool complete = true;
  for (unsigned count = 1 + random() % 4; count > 0 && complete; --count)
    complete = mutation.apply();
  std::string printed;
  llvm::raw_string_ostream os(printed);
  if (complete)
    module->print(os, OpPrintingFlags().printGenericOpForm());
  // The destructor would report uses of erased values.
  module->walk([](Operation *op) { op->dropAllReferences(); });
  if (!complete)
    return std::nullopt;
  return printed;
}

} // namespace heddle::fuzz

//===- Compose.cpp - one program after another ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both bodies are cloned into one function. If a result of `left` replaces an
// argument and a result of `right` replaces that result, the result of `right`
// replaces the argument.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Compose.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/library/Expression.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace heddle::library {

static std::optional<unsigned> donatedTo(func::FuncOp function,
                                         unsigned argument) {
  auto result =
      function.getArgAttrOfType<IntegerAttr>(argument, foreach::kDonateAttr);
  if (!result)
    return {};
  return result.getInt();
}

static func::ReturnOp returnOf(func::FuncOp function) {
  return cast<func::ReturnOp>(function.getBody().front().getTerminator());
}

StringRef resultName(func::FuncOp function, unsigned result) {
  for (BlockArgument argument : function.getArguments())
    if (donatedTo(function, argument.getArgNumber()) == result)
      return nameOf(argument);
  return nameOf(returnOf(function).getOperand(result));
}

namespace {
/// Builds the composition.
class Composer {
public:
  Composer(func::FuncOp left, func::FuncOp right, Location loc, bool isLast)
      : left(left), right(right), loc(loc), isLast(isLast),
        builder(loc.getContext()) {}

  FailureOr<OwningOpRef<ModuleOp>> run();

private:
  /// A result of either side and the argument that it replaces.
  struct Result {
    Value value;
    StringRef name;
    std::optional<unsigned> replaced;
    bool consumed = false;
    bool isOfRight = false;
    /// Whether only `right` has the argument that the result replaces.
    bool replacesOwn = false;
  };

  unsigned addArgument(func::FuncOp from, unsigned number);
  LogicalResult bindRight(unsigned number);
  FailureOr<unsigned> shareArgument(unsigned shared, unsigned number);
  void cloneBody(func::FuncOp from);
  LogicalResult checkResults();
  void keepForNext();
  void keepIfSkipped();
  Value kept(Value found, Value now, Value before);

  func::FuncOp left, right;
  Location loc;
  bool isLast;
  OpBuilder builder;
  func::FuncOp function;
  IRMapping mapping;
  SmallVector<NamedAttrList> attributes;
  llvm::StringMap<unsigned> argumentOfName;
  SmallVector<Result> results; // those of left, then those of right
  /// For each argument of right, the argument of the composition that a result
  /// replaces if it replaces this argument of right.
  SmallVector<std::optional<unsigned>> origins;
};
} // namespace

unsigned Composer::addArgument(func::FuncOp from, unsigned number) {
  BlockArgument argument = from.getArgument(number);
  unsigned made = attributes.size();
  NamedAttrList kept(from.getArgAttrDict(number));
  kept.erase(foreach::kDonateAttr);
  attributes.push_back(kept);
  mapping.map(argument, function.getBody().front().addArgument(
                            argument.getType(), argument.getLoc()));
  argumentOfName.try_emplace(nameOf(argument), made);
  return made;
}

FailureOr<unsigned> Composer::shareArgument(unsigned shared, unsigned number) {
  BlockArgument ours = right.getArgument(number);
  BlockArgument theirs = function.getBody().getArgument(shared);
  if (theirs.getType() != ours.getType())
    return emitError(loc) << "argument '" << nameOf(ours) << "' has type "
                          << theirs.getType() << " in '" << left.getName()
                          << "' and type " << ours.getType() << " in '"
                          << right.getName() << "'";
  for (StringRef name : {foreach::kDefaultAttr, foreach::kInitialAttr}) {
    Attribute a = attributes[shared].get(name);
    Attribute b = right.getArgAttr(number, name);
    if (a != b)
      return emitError(loc)
             << "argument '" << nameOf(ours) << "' has the value " << a
             << " in '" << left.getName() << "' and " << b << " in '"
             << right.getName() << "'";
  }
  mapping.map(ours, theirs);
  return shared;
}

LogicalResult Composer::bindRight(unsigned number) {
  BlockArgument argument = right.getArgument(number);
  StringRef name = nameOf(argument);
  auto fed = llvm::find_if(results, [&](const Result &result) {
    return !name.empty() && result.name == name;
  });
  if (fed != results.end()) {
    if (fed->value.getType() != argument.getType())
      return emitError(loc)
             << "result '" << name << "' of '" << left.getName()
             << "' has type " << fed->value.getType() << " but argument '"
             << name << "' of '" << right.getName() << "' has type "
             << argument.getType();
    mapping.map(argument, fed->value);
    fed->consumed = true;
    origins.push_back(fed->replaced);
    return success();
  }
  auto shared = argumentOfName.find(name);
  if (name.empty() || shared == argumentOfName.end()) {
    origins.push_back(addArgument(right, number));
    return success();
  }
  auto argumentShared = shareArgument(shared->second, number);
  if (failed(argumentShared))
    return failure();
  origins.push_back(*argumentShared);
  return success();
}

void Composer::cloneBody(func::FuncOp from) {
  for (Operation &op : from.getBody().front().without_terminator())
    builder.clone(op, mapping);
}

LogicalResult Composer::checkResults() {
  llvm::StringMap<bool> seen;
  for (const Result &result : results)
    if (!result.consumed && !result.name.empty() &&
        !seen.try_emplace(result.name).second)
      return emitError(loc)
             << "expected results with different names, found a result '"
             << result.name << "' of '" << left.getName() << "' and one of '"
             << right.getName() << "': leave one of these programs out";
  return success();
}

/// Keeps the results that `right` reads and does not replace, for the program
/// after it: `check_finite` in `average+check_finite+sgd` has no gradients
/// among its results.
void Composer::keepForNext() {
  for (Result &read : results)
    if (read.consumed)
      read.consumed = llvm::any_of(results, [&](const Result &result) {
        return result.isOfRight && result.name == read.name;
      });
}

/// Keeps the arguments that only `right` replaces if `left` has found
/// gradients that are not finite.
void Composer::keepIfSkipped() {
  auto found = llvm::find_if(results, [](const Result &result) {
    return result.name == kFoundInf && !result.isOfRight && !result.consumed;
  });
  if (found == results.end())
    return;
  for (Result &result : results)
    if (result.replacesOwn)
      result.value = kept(found->value, result.value,
                          function.getBody().getArgument(*result.replaced));
}

/// `now`, or `before` if `found` is not 0.
Value Composer::kept(Value found, Value now, Value before) {
  Type type = before.getType();
  Type bound = foreach::computeType(foreach::storageType(type));
  Type flag = foreach::storageType(found.getType());
  int32_t at = defaultIndex(type);
  MLIRContext *context = builder.getContext();
  Region region;
  Block &block = region.emplaceBlock();
  Value newValue = block.addArgument(bound, namedLoc(context, "now"));
  Value oldValue = block.addArgument(bound, namedLoc(context, "before"));
  Value inf = block.addArgument(flag, namedLoc(context, kFoundInf));
  OpBuilder inside(context); // the region has no operation yet
  inside.setInsertionPointToEnd(&block);
  Scalar skips =
      unequal(Scalar(inside, inf), Scalar(inside, inf).constant(0, "zero"))
          .as("skips");
  Scalar chosen =
      select(skips, Scalar(inside, oldValue), Scalar(inside, newValue))
          .as("kept");
  foreach
    ::YieldOp::create(inside, inside.getUnknownLoc(),
                      ValueRange{chosen.getValue()});
  std::string name = ("kept_" + nameOf(before)).str();
  auto map = foreach::MapOp::create(
      builder, namedLoc(context, {StringRef(name)}), TypeRange{type},
      ValueRange{now, before, found},
      ArrayRef<int32_t>{at, at, defaultIndex(found.getType())});
  map.getBody().takeBody(region);
  return map.getResult(0);
}

FailureOr<OwningOpRef<ModuleOp>> Composer::run() {
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(builder.getContext()));
  builder.setInsertionPointToEnd(module->getBody());
  function =
      func::FuncOp::create(builder, builder.getUnknownLoc(),
                           (left.getName() + "_" + right.getName()).str(),
                           builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());

  for (unsigned k = 0; k < left.getNumArguments(); ++k)
    addArgument(left, k);
  cloneBody(left);
  for (auto [k, value] : llvm::enumerate(returnOf(left).getOperands())) {
    Result result{mapping.lookup(value), resultName(left, k), {}};
    for (unsigned a = 0; a < left.getNumArguments(); ++a)
      if (donatedTo(left, a) == k)
        result.replaced = a;
    results.push_back(result);
  }

  const unsigned shared = attributes.size();
  for (unsigned k = 0; k < right.getNumArguments(); ++k)
    if (failed(bindRight(k)))
      return failure();
  cloneBody(right);
  for (auto [k, value] : llvm::enumerate(returnOf(right).getOperands())) {
    Result result{mapping.lookup(value), resultName(right, k), {}};
    result.isOfRight = true;
    for (unsigned a = 0; a < right.getNumArguments(); ++a)
      if (donatedTo(right, a) == k) {
        result.replaced = origins[a];
        result.replacesOwn = origins[a] >= shared;
      }
    results.push_back(result);
  }
  if (!isLast)
    keepForNext();
  keepIfSkipped();
  if (failed(checkResults()))
    return failure();

  SmallVector<Value> returned;
  for (const Result &result : results) {
    if (result.consumed)
      continue;
    if (result.replaced)
      attributes[*result.replaced].set(
          foreach::kDonateAttr, builder.getI64IntegerAttr(returned.size()));
    returned.push_back(result.value);
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), returned);
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), TypeRange(ValueRange(returned))));
  for (auto [k, attribute] : llvm::enumerate(attributes))
    function.setArgAttrs(k, attribute.getDictionary(builder.getContext()));
  return module;
}

FailureOr<OwningOpRef<ModuleOp>> compose(ModuleOp left, ModuleOp right,
                                         Location loc, bool isLast) {
  auto only = [](ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  };
  return Composer(only(left), only(right), loc, isLast).run();
}

} // namespace heddle::library

//===- Compose.cpp - one program after another ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bodies move into one function. If a result replaces an argument, and a
// result of a later part replaces that result, the later one replaces the
// argument.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Compose.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/library/Expression.h"
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

/// Whether `name` is `base`, or `base` and the suffix of a family.
static bool isCalled(StringRef name, StringRef base) {
  return name.consume_front(base) && (name.empty() || name.starts_with("_"));
}

/// Whether the program replaces parameters.
static bool isUpdate(func::FuncOp function) {
  return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
    return isCalled(nameOf(argument), "param") &&
           donatedTo(function, argument.getArgNumber());
  });
}

namespace {
/// Builds the composition.
class Composer {
public:
  explicit Composer(MutableArrayRef<Part> parts);

  FailureOr<OwningOpRef<ModuleOp>> run();

private:
  struct Argument {
    StringRef name;
    NamedAttrList attributes;
    /// The first part that has the argument, and the last one.
    unsigned firstPart, lastPart;
    /// The update that the list belongs to.
    std::optional<unsigned> owner;
    /// The part that limits the gradients of the list.
    std::optional<unsigned> limiter;
  };
  struct Result {
    Value value;
    StringRef name;
    unsigned part;
    std::optional<unsigned> replaced; ///< an argument
    std::optional<unsigned> takenBy;  ///< the last part that takes it
    bool isReturned = true;
  };

  /// What a part does with gradients.
  struct Role {
    bool isUpdate;
    StringRef gradients;   ///< the name of a list of gradients that it has
    bool passesOn = false; ///< whether a later part has such a list, too
  };
  /// An argument of a part in the composition.
  struct Bound {
    Value value;
    /// The argument that it is, or that the result which it takes replaces.
    std::optional<unsigned> argument;
  };

  func::FuncOp functionOf(unsigned part) {
    return *parts[part].module->getOps<func::FuncOp>().begin();
  }
  LogicalResult add(unsigned part);
  LogicalResult checkOwner(unsigned part, const Argument &argument);
  LogicalResult checkSize(unsigned part, const Argument &argument);
  FailureOr<Bound> bind(unsigned part, BlockArgument argument);
  FailureOr<Bound> takeResult(unsigned part, BlockArgument argument,
                              Result &result);
  FailureOr<Bound> shareArgument(unsigned part, BlockArgument argument,
                                 Argument &shared);
  LogicalResult checkValue(unsigned part, BlockArgument argument,
                           const Argument &shared);
  Bound addArgument(unsigned part, BlockArgument argument);
  LogicalResult addResult(Result result);
  LogicalResult checkGradients();
  Value kept(Value found, Value now, Value before);
  void finish();

  MutableArrayRef<Part> parts;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  llvm::StringMap<unsigned> argumentOfName;
  llvm::StringMap<unsigned> resultOfName; ///< the last result of each name
  SmallVector<Role> roles;                ///< of each part
};
} // namespace

Composer::Composer(MutableArrayRef<Part> parts)
    : parts(parts), builder(parts.front().loc.getContext()),
      module(ModuleOp::create(UnknownLoc::get(builder.getContext()))) {
  std::string name;
  for (unsigned k = 0; k < parts.size(); ++k) {
    name += (k ? "_" : "") + functionOf(k).getName().str();
    roles.push_back({isUpdate(functionOf(k)), {}});
  }
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, builder.getUnknownLoc(), name,
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The lists of an update are its own: a program after it would change
/// gradients too late, see gradients that it has set to zero, or update
/// parameters twice by one gradient.
LogicalResult Composer::checkOwner(unsigned part, const Argument &argument) {
  if (!argument.owner)
    return success();
  StringRef owner = parts[*argument.owner].text, other = parts[part].text;
  auto error = emitError(parts[part].loc);
  if (roles[part].isUpdate)
    return error << "expected one program that updates '" << argument.name
                 << "', found '" << owner << "' and '" << other
                 << "': leave one of these programs out, or give it lists of "
                    "its own with the option 'lists'";
  return error << "expected '" << owner << "', which updates parameters by '"
               << argument.name << "', as the last program with this list, "
               << "found '" << other << "' after it: write '" << other
               << "' before '" << owner << "'";
}

/// A limit holds for gradients of their true size.
LogicalResult Composer::checkSize(unsigned part, const Argument &argument) {
  if (parts[part].use != GradientUse::sizes || !argument.limiter)
    return success();
  StringRef limiter = parts[*argument.limiter].text, text = parts[part].text;
  return emitError(parts[part].loc)
         << "expected '" << text << "' before '" << limiter
         << "', which limits gradients of their true size, found it after: "
         << "write '" << text << "' before '" << limiter << "'";
}

Composer::Bound Composer::addArgument(unsigned part, BlockArgument argument) {
  auto from = functionOf(part);
  NamedAttrList attributes(from.getArgAttrDict(argument.getArgNumber()));
  attributes.erase(foreach::kDonateAttr);
  StringRef name = nameOf(argument);
  unsigned number = arguments.size();
  argumentOfName.try_emplace(name, number);
  arguments.push_back({name, attributes, part, part, {}, {}});
  return {function.getBody().front().addArgument(argument.getType(),
                                                 argument.getLoc()),
          number};
}

FailureOr<Composer::Bound> Composer::shareArgument(unsigned part,
                                                   BlockArgument argument,
                                                   Argument &shared) {
  unsigned number = &shared - arguments.data();
  Value value = function.getArgument(number);
  StringRef first = parts[shared.firstPart].text, text = parts[part].text;
  if (value.getType() != argument.getType())
    return emitError(parts[part].loc)
           << "argument '" << shared.name << "' has type " << value.getType()
           << " in '" << first << "' and type " << argument.getType() << " in '"
           << text << "'";
  if (failed(checkValue(part, argument, shared)))
    return failure();
  return Bound{value, number};
}

/// The programs that share an argument give it one value.
LogicalResult Composer::checkValue(unsigned part, BlockArgument argument,
                                   const Argument &shared) {
  for (StringRef name :
       {foreach::kDefaultAttr, foreach::kPositiveAttr, foreach::kInitialAttr}) {
    Attribute a = shared.attributes.get(name);
    Attribute b = functionOf(part).getArgAttr(argument.getArgNumber(), name);
    if (a != b)
      return emitError(parts[part].loc)
             << "argument '" << shared.name << "' has the value " << a
             << " in '" << parts[shared.firstPart].text << "' and " << b
             << " in '" << parts[part].text << "'";
  }
  return success();
}

FailureOr<Composer::Bound>
Composer::takeResult(unsigned part, BlockArgument argument, Result &result) {
  if (result.value.getType() != argument.getType())
    return emitError(parts[part].loc)
           << "result '" << result.name << "' of '" << parts[result.part].text
           << "' has type " << result.value.getType() << " but argument '"
           << result.name << "' of '" << parts[part].text << "' has type "
           << argument.getType();
  if (result.replaced &&
      failed(checkValue(part, argument, arguments[*result.replaced])))
    return failure();
  result.takenBy = part;
  // Other programs pass on what they take: `check_finite` in
  // `average+check_finite+sgd` hides no gradients from `sgd`.
  result.isReturned &= !roles[part].isUpdate;
  return Bound{result.value, result.replaced};
}

/// The value of an argument of a part in the composition.
FailureOr<Composer::Bound> Composer::bind(unsigned part,
                                          BlockArgument argument) {
  StringRef name = nameOf(argument);
  if (name.empty())
    return addArgument(part, argument);
  if (isCalled(name, "grad"))
    roles[part].gradients = name;
  auto known = argumentOfName.find(name);
  if (known != argumentOfName.end()) {
    Argument &shared = arguments[known->second];
    if (failed(checkOwner(part, shared)))
      return failure();
    if (isCalled(name, "grad")) {
      if (failed(checkSize(part, shared)))
        return failure();
      roles[shared.lastPart].passesOn = true;
    }
    shared.lastPart = part;
  }
  auto fed = resultOfName.find(name);
  if (fed != resultOfName.end())
    return takeResult(part, argument, results[fed->second]);
  if (known != argumentOfName.end())
    return shareArgument(part, argument, arguments[known->second]);
  return addArgument(part, argument);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Composer::addResult(Result result) {
  auto [known, isNew] = resultOfName.try_emplace(result.name, results.size());
  if (!isNew && !result.name.empty()) {
    Result &before = results[known->second];
    if (before.isReturned && before.takenBy != result.part)
      return emitError(parts[result.part].loc)
             << "expected results with different names, found a result '"
             << result.name << "' of '" << parts[before.part].text
             << "' and one of '" << parts[result.part].text
             << "': leave one of these programs out";
    before.isReturned = false;
    known->second = results.size();
  }
  results.push_back(result);
  return success();
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

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Moves the body of a part into the composition.
LogicalResult Composer::add(unsigned part) {
  func::FuncOp from = functionOf(part);
  const unsigned shared = arguments.size();
  SmallVector<Bound> bounds;
  for (BlockArgument argument : from.getArguments()) {
    auto bound = bind(part, argument);
    if (failed(bound))
      return failure();
    bounds.push_back(*bound);
  }
  SmallVector<Result> made;
  for (unsigned k = 0; k < from.getNumResults(); ++k)
    made.push_back({{}, resultName(from, k), part, {}, {}});
  for (auto [k, bound] : llvm::enumerate(bounds)) {
    if (auto result = donatedTo(from, k))
      made[*result].replaced = bound.argument;
    if (roles[part].isUpdate && bound.argument &&
        foreach::isList(bound.value.getType()))
      arguments[*bound.argument].owner = part;
    if (parts[part].use == GradientUse::limits && bound.argument)
      arguments[*bound.argument].limiter = part;
  }

  Block &body = from.getBody().front(), &whole = function.getBody().front();
  for (auto [argument, bound] : llvm::zip(from.getArguments(), bounds))
    argument.replaceAllUsesWith(bound.value);
  for (auto [result, value] : llvm::zip(made, returnOf(from).getOperands()))
    result.value = value;
  body.back().erase(); // its operands move
  whole.getOperations().splice(whole.end(), body.getOperations());

  // After a check, a part keeps what no earlier part has.
  auto found = resultOfName.find(kFoundInf);
  bool mayBeSkipped =
      found != resultOfName.end() && results[found->second].takenBy != part;
  Value skips = mayBeSkipped ? results[found->second].value : Value();
  for (Result &result : made) {
    if (skips && result.replaced && *result.replaced >= shared)
      result.value =
          kept(skips, result.value, function.getArgument(*result.replaced));
    if (failed(addResult(result)))
      return failure();
  }
  return success();
}

/// The gradients of a program before an update have to reach a later program:
/// `clip_by_value:dtype=f32/bf16+sgd:dtype=f32` clips other lists than those of
/// the update.
LogicalResult Composer::checkGradients() {
  bool isBeforeUpdate = false;
  for (auto [part, role] : llvm::reverse(llvm::zip_equal(parts, roles))) {
    if (isBeforeUpdate && !role.isUpdate && !role.gradients.empty() &&
        !role.passesOn)
      return emitError(part.loc)
             << "expected a program after '" << part.text << "' with its list '"
             << role.gradients
             << "', found none: give all programs the same 'dtype' and 'lists'";
    isBeforeUpdate |= role.isUpdate;
  }
  return success();
}

/// Returns the results and sets the attributes of the arguments.
void Composer::finish() {
  SmallVector<Value> returned;
  for (const Result &result : results) {
    if (!result.isReturned)
      continue;
    if (result.replaced)
      arguments[*result.replaced].attributes.set(
          foreach::kDonateAttr, builder.getI64IntegerAttr(returned.size()));
    returned.push_back(result.value);
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), returned);
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), TypeRange(ValueRange(returned))));
  for (auto [k, argument] : llvm::enumerate(arguments))
    function.setArgAttrs(
        k, argument.attributes.getDictionary(builder.getContext()));
}

FailureOr<OwningOpRef<ModuleOp>> Composer::run() {
  for (unsigned part = 0; part < parts.size(); ++part)
    if (failed(add(part)))
      return failure();
  if (failed(checkGradients()))
    return failure();
  finish();
  return std::move(module);
}

FailureOr<OwningOpRef<ModuleOp>> compose(MutableArrayRef<Part> parts) {
  return Composer(parts).run();
}

} // namespace heddle::library

//===- Reference.cpp - programs in the reference interpreter --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the functions of heddle_reference.h.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/Reference.h"
#include "codegen/compiler/heddle_reference.h"
#include "dialect/Foreach.h"
#include "dialect/IntegerValue.h"
#include "dialect/Names.h"
#include "dialect/library/Library.h"
#include "dialect/reference/EqualExtents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/capi/CApi.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;
using heddle::runtime::callCompiler;
using heddle::runtime::callGuarded;
using heddle::runtime::makeError;
using heddle::runtime::returnText;
using heddle::runtime::StatusCode;

namespace heddle {

llvm::Expected<std::unique_ptr<Reference>>
Reference::create(StringRef program) {
  std::unique_ptr<Reference> result(new Reference);
  if (llvm::Error error = result->compilation.read(program))
    return error;
  auto found = result->compilation.onlyFunction();
  if (!found)
    return found.takeError();
  func::FuncOp function = *found;
  result->function = function;
  result->arguments.resize(function.getNumArguments());
  result->given.resize(function.getNumArguments());
  for (unsigned k = 0; k < function.getNumArguments(); ++k)
    if (auto value =
            function.getArgAttrOfType<TypedAttr>(k, foreach::kDefaultAttr)) {
      double number = 0;
      if (auto real = dyn_cast<FloatAttr>(value))
        number = real.getValueAsDouble();
      else if (auto integer = dyn_cast<IntegerAttr>(value))
        number = foreach::numberOf(integer);
      result->arguments[k] = reference::Value::scalar(number);
      result->given[k] = true;
    }
  return result;
}

llvm::Expected<unsigned> Reference::find(StringRef argument) const {
  auto target = function;
  for (BlockArgument candidate : target.getArguments())
    if (nameOf(candidate) == argument)
      return candidate.getArgNumber();
  return makeError(StatusCode::BadInput, "the program has no argument '{0}'",
                   argument);
}

llvm::Expected<std::optional<double>>
Reference::initialValue(StringRef argument) const {
  auto number = find(argument);
  if (!number)
    return number.takeError();
  auto target = function;
  Attribute value = target.getArgAttr(*number, foreach::kInitialAttr);
  if (auto real = dyn_cast_or_null<FloatAttr>(value))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(value))
    return foreach::numberOf(integer);
  return std::nullopt;
}

llvm::Expected<int64_t> Reference::extentNumber(StringRef argument,
                                                unsigned dimension) const {
  auto number = find(argument);
  if (!number)
    return number.takeError();
  auto target = function;
  reference::EqualExtents extents(target);
  auto searched = extents.of(target.getArgument(*number), dimension);
  // The first dimension that equals it.
  for (BlockArgument candidate : target.getArguments())
    for (unsigned k = 0; k < 2; ++k)
      if (extents.of(candidate, k) == searched)
        return 2 * candidate.getArgNumber() + k;
  llvm_unreachable("a dimension equals itself");
}

bool Reference::isFill(size_t index) const {
  auto target = function;
  if (target.isExternal())
    return false;
  Operation *end = target.getBody().front().getTerminator();
  if (index >= end->getNumOperands())
    return false;
  auto result = dyn_cast<OpResult>(end->getOperand(index));
  if (!result || !isList(result.getType()))
    return false;
  auto map = dyn_cast<foreach::MapOp>(result.getOwner());
  return map && map.getYield()
                    .getValues()[result.getResultNumber()]
                    .getDefiningOp<arith::ConstantOp>();
}

llvm::Error Reference::setArgument(StringRef name, reference::Value value,
                                   bool asList) {
  auto number = find(name);
  if (!number)
    return number.takeError();
  Type type = function.getArgumentTypes()[*number];
  if (isList(type) != asList)
    return makeError(StatusCode::BadInput,
                     "argument '{0}': expected a {1}, found a {2}", name,
                     isList(type) ? "list" : "scalar",
                     isList(type) ? "scalar" : "list");
  arguments[*number] = std::move(value);
  given[*number] = true;
  return llvm::Error::success();
}

double *Reference::member(StringRef argument, size_t member) {
  auto number = find(argument);
  if (!number) {
    llvm::consumeError(number.takeError());
    return nullptr;
  }
  auto &members = arguments[*number].members;
  return member < members.size() ? members[member].data.data() : nullptr;
}

llvm::Error Reference::step(const reference::InterpretOptions &options) {
  for (unsigned k = 0; k < given.size(); ++k)
    if (!given[k])
      return makeError(StatusCode::BadInput, "argument '{0}' is not set",
                       nameOf(function.getArgument(k)));
  // Results replace donated arguments below, so these need no copy.
  std::vector<reference::Value> inputs(arguments.size());
  replaced.assign(function.getNumResults(), -1);
  for (unsigned k = 0; k < arguments.size(); ++k) {
    if (auto donated =
            function.getArgAttrOfType<IntegerAttr>(k, foreach::kDonateAttr)) {
      replaced[donated.getInt()] = k;
      inputs[k] = std::move(arguments[k]);
      given[k] = false; // if this step fails
    } else {
      inputs[k] = arguments[k];
    }
  }
  results.clear();
  auto evaluated = reference::interpret(function, std::move(inputs), options);
  if (failed(evaluated))
    return compilation.failure("evaluation of the program failed");
  results = std::move(*evaluated);
  for (auto [result, argument] : llvm::zip(results, replaced))
    if (argument >= 0) {
      arguments[argument] = std::move(result);
      given[argument] = true;
    }
  return llvm::Error::success();
}

const reference::Value *Reference::getResult(size_t index) const {
  if (index >= results.size())
    return nullptr;
  return replaced[index] >= 0 ? &arguments[replaced[index]] : &results[index];
}

} // namespace heddle

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

using heddle::Reference;

struct heddle_reference {
  std::unique_ptr<Reference> program;
};

heddle_status heddle_reference_create(const char *program,
                                      heddle_reference **reference) {
  return callCompiler([&]() -> llvm::Error {
    if (llvm::Error error =
            HEDDLE_REQUIRE("heddle_reference_create", program, reference))
      return error;
    auto created = Reference::create(program);
    if (!created)
      return created.takeError();
    *reference = new heddle_reference{std::move(*created)};
    return llvm::Error::success();
  });
}

void heddle_reference_free(heddle_reference *reference) {
  heddle::runtime::freeGuarded([&] { delete reference; });
}

heddle_status heddle_reference_initial(const heddle_reference *reference,
                                       const char *argument, int *given,
                                       double *value) {
  return callCompiler([&]() -> llvm::Error {
    if (llvm::Error error = HEDDLE_REQUIRE("heddle_reference_initial",
                                           reference, argument, given, value))
      return error;
    auto initial = reference->program->initialValue(argument);
    if (!initial)
      return initial.takeError();
    *given = initial->has_value();
    *value = initial->value_or(0);
    return llvm::Error::success();
  });
}

heddle_status heddle_reference_extent(const heddle_reference *reference,
                                      const char *argument, int dimension,
                                      int64_t *number) {
  return callCompiler([&]() -> llvm::Error {
    if (llvm::Error error = HEDDLE_REQUIRE("heddle_reference_extent", reference,
                                           argument, number))
      return error;
    auto found = reference->program->extentNumber(argument, dimension);
    if (!found)
      return found.takeError();
    *number = *found;
    return llvm::Error::success();
  });
}

heddle_status heddle_reference_is_fill(const heddle_reference *reference,
                                       size_t index, int *fill) {
  return callGuarded([&]() -> llvm::Error {
    if (llvm::Error error =
            HEDDLE_REQUIRE("heddle_reference_is_fill", reference, fill))
      return error;
    *fill = reference->program->isFill(index);
    return llvm::Error::success();
  });
}

heddle_status heddle_reference_set_list(heddle_reference *reference,
                                        const char *argument, size_t members,
                                        const int *ranks,
                                        const int64_t *extents) {
  return callGuarded([&]() -> llvm::Error {
    if (llvm::Error error =
            HEDDLE_REQUIRE("heddle_reference_set_list", reference, argument))
      return error;
    heddle::reference::Value value;
    value.members.resize(members);
    for (size_t member = 0; member < members; ++member) {
      auto &tensor = value.members[member];
      tensor.extents.assign(extents, extents + ranks[member]);
      extents += ranks[member];
      uint64_t count = 1;
      bool overflows = false;
      for (int64_t extent : tensor.extents)
        count = llvm::SaturatingMultiply<uint64_t>(count, extent, &overflows);
      if (overflows || count > tensor.data.max_size())
        return makeError(StatusCode::BadInput,
                         "argument '{0}', member {1}: expected extents of at "
                         "least 0 and fewer elements",
                         argument, member);
      tensor.data.resize(count);
    }
    return reference->program->setArgument(argument, std::move(value), true);
  });
}

double *heddle_reference_member(heddle_reference *reference,
                                const char *argument, size_t member) {
  double *elements = nullptr;
  callGuarded([&]() -> llvm::Error {
    if (reference && argument)
      elements = reference->program->member(argument, member);
    return llvm::Error::success();
  });
  return elements;
}

heddle_status heddle_reference_set_scalar(heddle_reference *reference,
                                          const char *argument, double value) {
  return callGuarded([&]() -> llvm::Error {
    if (llvm::Error error =
            HEDDLE_REQUIRE("heddle_reference_set_scalar", reference, argument))
      return error;
    return reference->program->setArgument(
        argument, heddle::reference::Value::scalar(value), false);
  });
}

heddle_status heddle_reference_step(heddle_reference *reference) {
  return callCompiler([&]() -> llvm::Error {
    if (llvm::Error error = HEDDLE_REQUIRE("heddle_reference_step", reference))
      return error;
    heddle::reference::InterpretOptions options;
    options.arithmetic = heddle::reference::Arithmetic::bounded;
    return reference->program->step(options);
  });
}

heddle_status heddle_reference_perturbed_step(heddle_reference *reference,
                                              uint64_t seed, double ulps) {
  return callCompiler([&]() -> llvm::Error {
    if (llvm::Error error =
            HEDDLE_REQUIRE("heddle_reference_perturbed_step", reference))
      return error;
    heddle::reference::InterpretOptions options;
    options.arithmetic = heddle::reference::Arithmetic::perturbed;
    options.seed = seed;
    options.amplitude = ulps;
    return reference->program->step(options);
  });
}

heddle_status heddle_reference_result(const heddle_reference *reference,
                                      size_t index, size_t member,
                                      heddle_reference_elements *result) {
  return callGuarded([&]() -> llvm::Error {
    if (llvm::Error error =
            HEDDLE_REQUIRE("heddle_reference_result", reference, result))
      return error;
    const auto *value = reference->program->getResult(index);
    if (!value || member >= value->members.size())
      return makeError(StatusCode::BadInput,
                       "the program has no result {0} with a member {1}", index,
                       member);
    const auto &tensor = value->members[member];
    *result = {tensor.data.data(), tensor.lows().data(), tensor.highs().data(),
               tensor.data.size()};
    return llvm::Error::success();
  });
}

static llvm::json::Array describePrograms() {
  llvm::json::Array programs;
  for (const heddle::library::ProgramInfo &info :
       heddle::library::describePrograms()) {
    llvm::json::Array options;
    for (const heddle::library::OptionInfo &option : info.options)
      options.push_back(llvm::json::Object{{"name", option.name},
                                           {"type", option.type},
                                           {"default", option.defaultValue},
                                           {"help", option.help}});
    programs.push_back(llvm::json::Object{{"name", info.name},
                                          {"summary", info.summary},
                                          {"options", std::move(options)}});
  }
  return programs;
}

heddle_status heddle_describe_programs(char **text) {
  return callCompiler([&]() -> llvm::Error {
    if (llvm::Error error = HEDDLE_REQUIRE("heddle_describe_programs", text))
      return error;
    return returnText(
        llvm::formatv("{0:2}", llvm::json::Value(describePrograms())).str(),
        text);
  });
}

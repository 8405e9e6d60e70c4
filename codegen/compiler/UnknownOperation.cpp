//===- UnknownOperation.cpp - messages about unknown operations -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/UnknownOperation.h"
#include "codegen/compiler/OpenConstruct.h"
#include "dialect/ScalarOps.h"
#include "dialect/library/Options.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace heddle {

/// The names of the operations with `prefix`, without it, in order.
static SmallVector<StringRef> operationsOf(StringRef prefix,
                                           MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName known : context->getRegisteredOperations())
    if (known.getDialectNamespace() == prefix)
      names.push_back(known.stripDialect());
  llvm::sort(names);
  return names;
}

/// `name` has a prefix, such as `foreach` or `scf`.
static std::string unknownWithPrefix(StringRef name, MLIRContext *context) {
  std::string text = "unknown operation '" + name.str() + "'";
  auto [prefix, rest] = name.split('.');
  if (!context->getLoadedDialect(prefix))
    return text + ": expected an operation of arith, foreach, func or math, "
                  "such as foreach.map";
  SmallVector<StringRef> names = operationsOf(prefix, context);
  StringRef near = library::nearest(rest, names);
  if (!near.empty())
    return text + "; did you mean '" + prefix.str() + "." + near.str() + "'?";
  std::string allowed = namesOfScalarOps(prefix);
  if (allowed.empty() || prefix == "foreach")
    return text + "; the operations of " + prefix.str() + " are " +
           llvm::join(names, ", ");
  return text + "; the scalar operations of " + prefix.str() + " are " +
         allowed;
}

/// The operation that `name` is without its prefix: `yield` of `foreach.yield`.
static StringRef withPrefix(StringRef name, MLIRContext *context) {
  StringRef found;
  for (RegisteredOperationName known : context->getRegisteredOperations()) {
    // Some operations of fused have the same names, but passes write them.
    bool isFused = known.getDialectNamespace() == "fused";
    if (known.stripDialect() == name && (found.empty() || !isFused))
      found = known.getStringRef();
  }
  return found;
}

/// Whether `rest`, the text after a name, makes the name a result: `= ...`, or
/// `:2, k = ...`.
static bool isDefined(StringRef rest) {
  static const llvm::Regex results("^ *(:[0-9]+ *)?(,[^=(){}]*)?=");
  return results.match(rest.split('\n').first);
}

std::string unknownOperation(StringRef name, StringRef before, StringRef after,
                             MLIRContext *context) {
  if (name.contains('.'))
    return unknownWithPrefix(name, context);
  std::string found = ", found '" + name.str() + "'";
  StringRef rest = after.starts_with(name) ? after.drop_front(name.size()) : "";
  bool isExponent = !before.empty() && llvm::isDigit(before.back()) &&
                    name.starts_with_insensitive("e");
  if (isExponent)
    return "expected a decimal point before an exponent, as in 1.0e-8";
  unsigned depth = openConstruct(before, context).depth;
  if (name == "return" && depth > 1)
    return "expected foreach.yield, which ends a body, or '}' before 'return', "
           "which ends a function";
  if (isDefined(rest)) {
    // Only types and attributes are defined outside of functions.
    return std::string("expected ") +
           (depth == 0 ? "'!' before the name of a type, as in !"
                       : "'%' before the name of a value, as in %") +
           name.str() + found;
  }
  StringRef line = before.rtrim(' ').drop_front(before.rfind('\n') + 1);
  StringRef last = line.drop_front(line.rfind(' ') + 1);
  if (!operationNamed(last, context).empty())
    return "expected '%' before the name of a value, as in %" + name.str() +
           found;
  std::string text = "unknown operation '" + name.str() + "'";
  if (StringRef whole = withPrefix(name, context); !whole.empty())
    return text + "; did you mean '" + whole.str() + "'?";
  return text + ": expected an operation of arith, foreach, func or math, such "
                "as foreach.map, or a value, such as %x";
}

} // namespace heddle

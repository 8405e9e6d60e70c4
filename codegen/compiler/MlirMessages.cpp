//===- MlirMessages.cpp - messages of MLIR in heddle's terms --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of MLIR's parser are for authors of compilers: they name dialects
// that are not registered, options of MLIR's tools, and C++ types.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/Diagnostics.h"
#include "codegen/compiler/OpenConstruct.h"
#include "codegen/compiler/SyntaxMessages.h"
#include "codegen/compiler/UnknownOperation.h"
#include "dialect/ScalarOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <optional>

using namespace mlir;
using llvm::Regex;

namespace heddle {

static constexpr StringRef kPrefixes =
    "expected a name that begins with arith, foreach, func or math";

/// The string literal that ends `text`.
static StringRef lastLiteral(StringRef text) {
  text = text.rtrim();
  if (!text.consume_back("\""))
    return {};
  size_t begin = text.rfind('"');
  return begin == StringRef::npos ? StringRef() : text.drop_front(begin + 1);
}

/// The meaning of a C++ type in a message about a parameter.
static StringRef describeType(StringRef type) {
  return llvm::StringSwitch<StringRef>(type)
      .EndsWith("RankedTensorType", "a tensor type such as tensor<?xf32>")
      .EndsWith("ArrayRef<int64_t>", "a list of integers")
      .EndsWith("StringRef", "a string")
      .EndsWith("int64_t", "an integer")
      .Case("bool", "true or false")
      .Default("another value");
}

/// `Fused_Schedule` is `fused.schedule` in a program.
static std::string spelledName(StringRef definition) {
  auto [dialect, name] = definition.split('_');
  return dialect.lower() + "." + name.lower();
}

/// Replaces words of MLIR in `text`, which has no names of the program.
static std::string withoutTerms(StringRef text) {
  static constexpr std::pair<StringRef, StringRef> terms[] = {
      {"SSA identifier", "value, such as %x"},
      {"SSA value", "value"},
      {"SSA name", "the name of a value"},
      {"regions", "bodies"},
      {"region", "body"},
      {"floating-point-like", "a float such as f32"},
      {"signless-fixed-width-integer-like", "an integer such as i32"},
      {"signless-integer-like", "an integer such as i32"},
      {"1-bit signless integer", "i1"},
      {"32-bit signless integer", "i32"},
      {"64-bit signless integer", "i64"},
      {", got: ", ", found "}};
  std::string result = text.str();
  for (auto [theirs, ours] : terms)
    for (size_t at; (at = result.find(theirs)) != std::string::npos;)
      result.replace(at, theirs.size(), ours);
  for (StringRef noun : {"operand", "result", "region", "argument", "type"}) {
    std::string wrong = " 1 " + noun.str() + "s";
    for (size_t at; (at = result.find(wrong)) != std::string::npos;)
      result.erase(at + wrong.size() - 1, 1);
  }
  return result;
}

/// Applies `withoutTerms` outside of quotes. The apostrophe in "doesn't" is no
/// quote.
static std::string replaceTerms(StringRef text) {
  std::string result;
  for (size_t from = 0; !text.empty();) {
    size_t open = text.find_first_of("'\"`", from);
    if (open != StringRef::npos && open > 0 && llvm::isAlnum(text[open - 1])) {
      from = open + 1;
      continue;
    }
    size_t close =
        open == StringRef::npos ? open : text.find(text[open], open + 1);
    if (close == StringRef::npos)
      return result + withoutTerms(text);
    result += withoutTerms(text.take_front(open));
    result += text.slice(open, close + 1);
    text = text.drop_front(close + 1);
    from = 0;
  }
  return result;
}

/// Removes the namespaces of C++, which mean nothing in a program. Names of the
/// program stay: `isName` decides.
static std::string
withoutNamespaces(StringRef text, llvm::function_ref<bool(StringRef)> isName) {
  static const Regex scope("(::)?(mlir|llvm|heddle|std)::[A-Za-z0-9_:]+");
  std::string result;
  SmallVector<StringRef> parts;
  while (scope.match(text, &parts)) {
    StringRef name = parts[0];
    result += text.take_front(name.data() - text.data());
    result += isName(name) ? name : name.substr(name.rfind("::") + 2);
    text = text.drop_front(name.data() + name.size() - text.data());
  }
  return result + text.str();
}

/// The types to which a conversion can convert; empty for other operations.
static StringRef convertedTo(StringRef op) {
  return llvm::StringSwitch<StringRef>(op)
      .Cases({"arith.truncf", "arith.trunci"}, "a narrower type")
      .Cases({"arith.extf", "arith.extsi", "arith.extui"}, "a wider type")
      .Cases({"arith.sitofp", "arith.uitofp"}, "an integer to a float")
      .Cases({"arith.fptosi", "arith.fptoui"}, "a float to an integer")
      .Case("arith.bitcast", "a type of the same width")
      .Default("");
}

/// `message` in heddle's words if it is one of these, which say all that is to
/// be said but in the words of MLIR; else nothing.
static std::optional<std::string> reworded(StringRef message) {
  static const std::pair<Regex, StringRef> messages[] = {
      {Regex("^redefinition of SSA value ('[^']*')$"),
       "the name \\1 is already in use; expected another name"},
      {Regex("^unexpected (decimal|hexadecimal) integer literal for a floating "
             "point value$"),
       "expected a number with a decimal point, such as 1.0, for a float"},
      {Regex("^floating point value not valid for specified type$"),
       "a number with a decimal point needs a float type, such as f32"},
      {Regex("^hexadecimal float constant out of range for type$"),
       "expected at most as many hexadecimal digits as the float type has: 4 "
       "for f16 and bf16, 8 for f32, 16 for f64"},
      {Regex("^hexadecimal float literal should not have a leading minus$"),
       "expected the bits of the float, the sign among them, without '-': "
       "-infinity of f32 is 0xFF800000"},
      {Regex("^invalid tensor element type$"),
       "expected an element type, such as f32"},
      {Regex("^type names with a '.' are reserved for dialect-defined names$"),
       "expected a name without '.' for a type"},
      {Regex("^('.*' op) invalid kind of attribute specified$"),
       "\\1 expected a number, such as 1.0, 1 or true"},
      {Regex("^('func.return' op) has ([0-9]+) operands?, but enclosing "
             "function \\(@(.*)\\) returns ([0-9]+)$"),
       "\\1 expected the results of function '\\3', \\4 in number, found \\2"},
      {Regex("^type of return operand ([0-9]+) \\((.*)\\) doesn't match "
             "function result type \\((.*)\\) in function @(.*)$"),
       "returned value #\\1 has type \\2; expected \\3, as function '\\4' "
       "declares"},
      {Regex("^('func.call' op) operand type mismatch: expected operand type "
             "(.*), but provided (.*) for operand number ([0-9]+)$"),
       "\\1 operand #\\4 has type \\3; expected \\2"},
      {Regex("^operation defines ([0-9]+) results? but was provided ([0-9]+) "
             "to bind$"),
       "expected a name for each result of the operation, \\1 in number, found "
       "\\2"},
      {Regex("^('.*' op) expected string or keyword containing one of the "
             "following enum values for attribute '(.*)' \\[(.*)\\]$"),
       "\\1 expected one of \\3 as \\2"},
      {Regex("^('.*' op) value must be an integer, float, or elements "
             "attribute$"),
       "\\1 expected a number"},
      {Regex("^('.*' op) number of operands and types do not match: got "
             "([0-9]+) operands? and ([0-9]+) types?$"),
       "\\1 expected ':' and a type for each value, \\2 in number, found \\3"},
      {Regex("^('.*' op) expected valid '@'-identifier for symbol name$"),
       "\\1 expected a name that begins with '@', such as @step"},
      {Regex("^('.*' op) arguments may only have dialect attributes$"),
       "\\1 expected arguments with the attributes foreach.donate, "
       "foreach.default, foreach.positive and foreach.initial only"},
      {Regex("^('.*' op) expected non-empty function body$"),
       "\\1 expected a body that ends with 'return', found no operation"},
      {Regex("^('.*' op) expects a non-empty block$"),
       "\\1 expected its body to end with 'foreach.yield', found no operation"},
      {Regex("^('.*' op) must be the last operation in the parent block$"),
       "\\1 expected to be the last operation of its body"},
      {Regex("^('.*' op) expects parent op '(.*)'$"),
       "\\1 expected to be in '\\2' and not in a body within it"},
      {Regex("^('.*' op) expects parent op to be one of '(.*)'$"),
       "\\1 expected to be in a body of one of \\2"},
      {Regex("^operand #([0-9]+) does not dominate this use$"),
       "operand #\\1 is computed later; expected an argument, or a result of "
       "an earlier operation"},
      {Regex("^operand defined here .*$"), "it is computed here"},
      {Regex("^expected ([0-9]+) operand types? but had ([0-9]+)$"),
       "expected a type for each operand, \\1 in number, found \\2"}};
  for (const auto &[theirs, ours] : messages)
    if (theirs.match(message))
      return theirs.sub(ours, message);
  return std::nullopt;
}

std::string translateMessage(StringRef message, StringRef before,
                             StringRef after, MLIRContext *context) {
  SmallVector<StringRef> parts;
  auto matches = [&](const Regex &pattern) {
    return pattern.match(message, &parts);
  };
  static const Regex noDialect(
      "^Dialect `[^']*' not found for custom op '([^']*)'"),
      unknownCustom("^custom op '([^']*)' is unknown"),
      unregistered("^unregistered operation '(.*)' found in dialect"),
      newType("^`!\"(.*)\"<\"(.*)\">` type created with unregistered"),
      newAttribute("^#\"(.*)\"<\"(.*)\">.* attribute created with "
                   "unregistered"),
      unknown("^unknown +(type|attribute) `(.*)` in dialect `(.*)`"),
      createdWithout("^(.*) created with unregistered dialect"),
      withoutDialect("^(.*) with an unregistered dialect"),
      parameter("failed to parse ([A-Za-z]+_[A-Za-z]+) parameter '(.*)' which "
                "is to be a `(.*)`"),
      ofCustom("^custom op ('[^']*') "),
      otherType("^use of value '([^']*)' expects different type than prior "
                "uses: '(.*)' vs '(.*)'$"),
      nameInUse("^region entry argument '([^']*)' is already in use"),
      noFunction("^('func.call' op '.*') does not reference a valid function"),
      otherKind("^(.* (operand|result) #[0-9]+) must be (.*), but got ('.*')$"),
      ofScalar("^'((arith|math)\\.[a-z0-9_]+)' op "),
      ofList("^'(arith|math)\\.[a-z0-9]+' op .* but got '!foreach\\.list<"),
      notConverted("^'([a-z.]+)' op operand type ('.*') and result type ('.*') "
                   "are cast incompatible");
  if (message.starts_with("Available dialects: "))
    return "";
  std::string ofOperation;
  if (!matches(unknownCustom) && matches(ofCustom)) {
    ofOperation =
        (parts[1] + " op " + message.drop_front(parts[0].size())).str();
    message = ofOperation;
  }
  if (matches(ofScalar) && !message.contains("is not a scalar operation"))
    if (std::string why = whyNotScalar(parts[1]); !why.empty())
      return why;
  if (matches(noDialect) || matches(unknownCustom) || matches(unregistered))
    return unknownOperation(parts[1], before, after, context);
  if (message.starts_with("operation being parsed with an unregistered"))
    return unknownOperation(lastLiteral(before), before, after, context);
  if (matches(newType))
    return ("unknown type '!" + parts[1] + "." + parts[2] +
            "': expected !foreach.list<tensor<...>>, tensor<...>, or a type of "
            "numbers such as f32")
        .str();
  if (matches(newAttribute))
    return ("unknown attribute '#" + parts[1] + "." + parts[2] +
            "': " + kPrefixes)
        .str();
  if (matches(unknown))
    return ("unknown " + parts[1] + " '" + (parts[1] == "type" ? "!" : "#") +
            parts[3] + "." + parts[2] + "'")
        .str();
  if (matches(createdWithout) || matches(withoutDialect))
    return ("unknown " + parts[1] + ": " + kPrefixes).str();
  if (matches(parameter))
    return spelledName(parts[1]) + ": expected " +
           describeType(parts[3]).str() + " for '" + parts[2].str() + "'";
  if (message == "use of undeclared SSA value name") {
    StringRef name = after.take_while([](char c) {
      return llvm::isAlnum(c) || StringRef("%_$.-#").contains(c);
    });
    return ("unknown value '" + name +
            "': expected an argument, or a result of an earlier operation; "
            "a body of foreach.map or foreach.reduce has only its own")
        .str();
  }
  if (message == "invalid block name in region with named arguments")
    return "expected no block name; a body has the names in the parentheses "
           "before it";
  if (message == "invalid SSA name")
    return "expected a name of letters, digits and '_', '$', '.', '-' after "
           "'%'";
  if (message == "expected SSA operand" ||
      message == "expected valid ssa identifier")
    return "expected a value, such as %x";
  if (matches(otherType))
    return ("value '" + parts[1] + "' has type '" + parts[3] + "'; expected '" +
            parts[2] + "'")
        .str();
  if (matches(nameInUse))
    return ("the name '" + parts[1] + "' is already in use; " +
            (openConstruct(before, context).name == "func.func"
                 ? "arguments need different names"
                 : "values of foreach.while and foreach.if need names of their "
                   "own"))
        .str();
  if (matches(noFunction))
    return (message + "; expected a private function of the module").str();
  if (matches(notConverted) && !convertedTo(parts[1]).empty())
    return ("'" + parts[1] + "' op cannot convert " + parts[2] + " to " +
            parts[3] + "; expected " + convertedTo(parts[1]))
        .str();
  if (auto text = syntaxMessage(message, before, after, context))
    return replaceTerms(*text);
  if (auto text = reworded(message))
    return *text;
  std::string text = message.str();
  if (matches(otherKind))
    text =
        (parts[1] + " has type " + parts[4] + "; expected " + parts[3]).str();
  if (matches(ofList))
    text += "; foreach.map and foreach.reduce compute with the elements of a "
            "list";
  return withoutNamespaces(replaceTerms(text), [&](StringRef name) {
    return before.contains(name) || after.contains(name);
  });
}

} // namespace heddle

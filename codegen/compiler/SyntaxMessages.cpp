//===- SyntaxMessages.cpp - messages about the tokens of a program --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser names the token that it expected. The author of a program needs
// the operation that lacks it.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/SyntaxMessages.h"
#include "codegen/compiler/OpenConstruct.h"
#include "dialect/ScalarOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using llvm::Regex;

namespace heddle {

static const Regex &undefinedAlias() {
  static const Regex pattern("^undefined symbol alias id '(.*)'$");
  return pattern;
}

static constexpr StringRef kNoOperation = "expected operation name in quotes";
static constexpr StringRef kNoFloat =
    "floating point value not valid for specified type";

/// The word that ends `text`, with its prefix.
static StringRef lastWord(StringRef text) {
  text = text.rtrim();
  size_t space = text.find_last_of(" \t\r\n");
  return text.drop_front(space == StringRef::npos ? 0 : space + 1);
}

size_t placeOfMessage(StringRef message, StringRef text, size_t offset) {
  SmallVector<StringRef> parts;
  if (undefinedAlias().match(message, &parts)) {
    // The place of the next token; the name is before it.
    size_t at = text.take_front(offset).rfind(parts[1]);
    if (at != StringRef::npos && at > 0)
      return at - 1;
  }
  if (message == kNoFloat) {
    // The token after the type.
    StringRef type = lastWord(text.take_front(offset));
    return type.empty() ? offset : type.data() - text.data();
  }
  if (message == kNoOperation) {
    // The end of the token before.
    size_t at = text.find_first_not_of(" \t\r\n", offset);
    if (at != StringRef::npos)
      return at;
  }
  return offset;
}

/// The word that begins `text`, without a prefix.
static StringRef firstWord(StringRef text) {
  return text.take_while(
      [](char c) { return llvm::isAlnum(c) || StringRef("_$.").contains(c); });
}

/// How an operation with parts is written.
static StringRef formOf(StringRef operation) {
  return llvm::StringSwitch<StringRef>(operation)
      .Case("func.func", "func.func @f(%x: TYPE) -> TYPE { ... }")
      .Case("func.call", "func.call @f(%x) : (TYPE) -> TYPE")
      .Case("func.return", "return %x : TYPE")
      .Case("foreach.map", "foreach.map (%a = %x : TYPE) -> TYPE { ... }")
      .Case("foreach.reduce",
            "foreach.reduce add along member (%a = %x : TYPE) -> TYPE { ... }")
      .Case("foreach.while",
            "foreach.while (%a = %x : TYPE) upto %limit -> TYPES { ... }")
      .Case("foreach.if", "foreach.if %flag -> TYPE { ... } else (%x)")
      .Case("math.fpowi", "math.fpowi %x, %n : f32, i32")
      .Default("");
}

static std::string noOperation(StringRef after, unsigned depth) {
  if (after.starts_with("}") && depth == 0)
    return "expected a function or the end of the text, found '}' without '{'";
  if (after.trim().size() < 2 && depth > 0)
    return "expected '}', found the end of the text";
  bool defines = after.starts_with("!") || after.starts_with("#");
  if (defines && depth > 0)
    return "expected the definition of '" + after.take_front().str() +
           firstWord(after.drop_front()).str() + "' before the function";
  StringRef word = firstWord(after);
  if (word.empty())
    word = after.take_front();
  return std::string("expected an operation, such as ") +
         (depth > 0 ? "foreach.map" : "func.func") +
         (word.trim().empty() ? "" : ", found '" + word.str() + "'");
}

static std::string noType(StringRef open, StringRef after) {
  StringRef word = firstWord(after);
  if (open == "func.func" && !word.empty() &&
      after.drop_front(word.size()).ltrim().starts_with(":"))
    return "expected '%' before the name of an argument, as in %" + word.str() +
           ", found '" + word.str() + "'";
  return "expected a type, such as f32, tensor<f32> or "
         "!foreach.list<tensor<?xf32>>";
}

/// `after` begins with a number and its type.
static std::string outOfRange(StringRef after) {
  static const Regex number("^(-?[0-9a-fA-Fx]+) *: *i([0-9]+)");
  SmallVector<StringRef> parts;
  unsigned width = 0;
  if (!number.match(after, &parts) || parts[2].getAsInteger(10, width) ||
      width < 2 || width > 64)
    return "the integer is out of the range of its type";
  // Without a sign, the number may be one of unsigned operations.
  return llvm::formatv("expected an integer from -{0} to {1} for i{2}, found "
                       "{3}",
                       uint64_t(1) << (width - 1), llvm::maxUIntN(width), width,
                       parts[1]);
}

/// `after` begins with the character.
static std::string unexpectedCharacter(StringRef after) {
  if (after.empty() || !llvm::isPrint(after.front()))
    return "unexpected character";
  return "unexpected character '" + after.take_front().str() + "'";
}

std::optional<std::string> syntaxMessage(StringRef message, StringRef before,
                                         StringRef after,
                                         MLIRContext *context) {
  SmallVector<StringRef> parts;
  if (message == "unexpected character")
    return unexpectedCharacter(after);
  if (message == "integer constant out of range for attribute")
    return outOfRange(after);
  if (message == "invalid attribute name")
    return "expected a name after '#'; a comment begins with '//'";
  if (message.starts_with("unbalanced '"))
    return "expected a bracket that closes this '" + after.take_front().str() +
           "'";
  if (message == "cannot name an operation with no results")
    return "expected an operation with results after '=', found one without; "
           "the types of results follow '->'";
  if (message == "expected '=' after SSA name")
    return "expected '=' after the name of a value";
  if (message == "expected '}' in attribute dictionary")
    return "expected '=' and a value, ',' or '}' after an attribute";
  if (undefinedAlias().match(message, &parts)) {
    bool isType = !after.starts_with("#");
    std::string name = (isType ? "!" : "#") + parts[1].str();
    return "'" + name + "' is not defined; expected a line '" + name +
           " = ...' before it" +
           (isType ? ", or a type such as tensor<f32>" : "");
  }
  static const Regex twice(
      "^redefinition of (type|attribute) alias id '(.*)'$");
  if (twice.match(message, &parts)) {
    std::string name = (parts[1] == "type" ? "!" : "#") + parts[2].str();
    return "'" + name +
           "' is defined a second time; expected another name, or '->' before "
           "the types of results";
  }
  static const Regex definition("^expected '=' in (type|attribute) alias");
  if (definition.match(message, &parts))
    return std::string("expected '=' and ") +
           (parts[1] == "type" ? "a type" : "an attribute") + " after '" +
           lastWord(before).str() + "'";
  if (message == "expected '<'" && before.ends_with("!foreach.list"))
    return "expected '<' and the type of the tensors, as in "
           "!foreach.list<tensor<?xf32>>";
  static const Regex token("^expected ('[^']+'.*)$");
  bool isToken = token.match(message, &parts);
  bool isConstant = message == "expected attribute value";
  if (!isToken && !isConstant && message != kNoOperation &&
      message != "expected non-function type")
    return std::nullopt;
  OpenConstruct open = openConstruct(before, context);
  if (message == kNoOperation)
    return noOperation(after, open.depth);
  if (!isToken && !isConstant)
    return noType(open.name, after);
  std::string expected = isConstant ? "a constant, such as 1.0, 1 or true"
                         : parts[1] == "':'" ? "':' and a type"
                                             : parts[1].str();
  if (open.name.empty())
    return "expected " + expected;
  // The correct form would be refused, too.
  if (std::string why = whyNotScalar(open.name); !why.empty())
    return why;
  if (StringRef("!#").contains(open.name.front()))
    return "expected " + expected + " in the definition of '" +
           open.name.str() + "'";
  if (isConstant && open.name == "func.call")
    expected = "the name of a function";
  StringRef form = formOf(open.name);
  return "'" + open.name.str() + "' op expected " + expected +
         (form.empty() ? "" : "; it is written " + form.str());
}

} // namespace heddle

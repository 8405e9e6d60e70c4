//===- OpenConstruct.cpp - the construct at a place of a text -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/OpenConstruct.h"
#include "dialect/ProgramChecks.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle {

static bool isNameCharacter(char c) {
  return llvm::isAlnum(c) || StringRef("_$.").contains(c);
}

StringRef operationNamed(StringRef word, MLIRContext *context) {
  if (word == "return" || word == "call")
    return word == "call" ? "func.call" : "func.return";
  auto known = RegisteredOperationName::lookup(word, context);
  return known ? known->getStringRef() : StringRef();
}

OpenConstruct openConstruct(StringRef text, MLIRContext *context) {
  OpenConstruct open;
  SmallVector<StringRef> outer; // the operations around open braces
  for (size_t at = 0; at < text.size();) {
    if (size_t after = skipLiteral(text, at); after != at) {
      at = after;
      continue;
    }
    char c = text[at];
    if (c == '{') {
      outer.push_back(open.name);
    } else if (c == '}' && !outer.empty()) {
      open.name = outer.pop_back_val();
    } else if (isNameCharacter(c) || StringRef("!#%^@").contains(c)) {
      StringRef word = text.substr(
          at, 1 + text.drop_front(at + 1).take_while(isNameCharacter).size());
      at += word.size();
      bool defines = StringRef("!#").contains(c) &&
                     text.drop_front(at).ltrim().starts_with("=");
      if (StringRef operation = operationNamed(word, context);
          !operation.empty())
        open.name = operation;
      else if (defines)
        open.name = word;
      continue;
    }
    ++at;
  }
  open.depth = outer.size();
  return open;
}

} // namespace heddle

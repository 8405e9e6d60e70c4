//===- Json.h - Reading JSON ----------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's parser recurses into nested values without a limit. So every JSON text
// of a caller or a file is read by parseJson().
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_JSON_H
#define HEDDLE_RUNTIME_SUPPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace heddle::runtime {

/// The deepest nesting of arrays and objects. A plan has three levels for each
/// level of nested loops, of which a program has at most 200.
inline constexpr unsigned kDeepestJson = 640;

/// Parses a text that nests at most kDeepestJson deep. BadInput otherwise.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// A text with U+FFFD in place of bytes that are not UTF-8. Sources are long,
/// and always UTF-8; llvm::json::fixUTF8 converts every text twice.
inline std::string utf8Text(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_JSON_H

//===- Json.cpp - Reading JSON --------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Json.h"

#include "runtime/support/Status.h"

using namespace llvm;

namespace heddle::runtime {

/// The position of the first bracket that nests deeper than kDeepestJson, or
/// npos. If the text is not JSON, the answer may be wrong; the text is refused
/// in any case.
static size_t findTooDeep(StringRef text) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (inString) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson)
        return at;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return StringRef::npos;
}

Expected<json::Value> parseJson(StringRef text) {
  if (size_t at = findTooDeep(text); at != StringRef::npos)
    return makeError(StatusCode::BadInput,
                     "[byte {0}]: expected at most {1} levels of nested arrays "
                     "and objects, found more",
                     at, kDeepestJson);
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return makeError(StatusCode::BadInput, "{0}", toString(value.takeError()));
  return value;
}

} // namespace heddle::runtime

//===- Json.cpp - Reading JSON --------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's parser recurses, takes numbers such as 02, and keeps the last of equal
// keys. One scan over the text refuses these.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Json.h"

#include "runtime/support/Status.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace heddle::runtime {

namespace {
/// One scan over a text. If the text is not JSON, it may find a wrong mistake,
/// or none; the text is refused in any case.
class JsonScan {
public:
  explicit JsonScan(StringRef text) : text(text) {}

  Error run() {
    if (text.starts_with("\xef\xbb\xbf"))
      return error("expected text without a byte order mark");
    while (at < text.size()) {
      char c = text[at];
      if (c == '"') {
        if (Error error = scanString())
          return error;
      } else if (c == '-' || isDigit(c)) {
        if (Error error = scanNumber())
          return error;
      } else {
        if (c == '[' || c == '{') {
          if (open.size() == kDeepestJson)
            return error(formatv("expected at most {0} levels of nested arrays "
                                 "and objects, found more",
                                 kDeepestJson));
          open.emplace_back();
        } else if ((c == ']' || c == '}') && !open.empty()) {
          open.pop_back();
        }
        ++at;
      }
    }
    return Error::success();
  }

private:
  Error error(const Twine &message) const {
    return makeError(StatusCode::BadInput, "[byte {0}]: {1}", at,
                     message.str());
  }

  Error scanString() {
    size_t end = at + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text.size());
    StringRef key = text.slice(at, end);
    bool isKey = text.drop_front(end).ltrim().starts_with(":");
    if (isKey && !open.empty() && !open.back().insert(plain(key)).second)
      return error("expected each key of an object once, found " + key +
                   " twice");
    at = end;
    return Error::success();
  }

  /// The text that a string literal stands for.
  static std::string plain(StringRef literal) {
    if (literal.contains('\\')) {
      if (Expected<json::Value> value = json::parse(literal))
        return value->getAsString().value_or(literal).str();
      else
        consumeError(value.takeError());
    }
    return literal.drop_front().drop_back().str();
  }

  Error scanNumber() {
    StringRef number = text.drop_front(at).take_while(
        [](char c) { return isAlnum(c) || StringRef("+-.").contains(c); });
    StringRef rest = number;
    rest.consume_front("-");
    StringRef digits = rest.take_while(isDigit);
    rest = rest.drop_front(digits.size());
    bool good = !digits.empty() && (digits == "0" || digits[0] != '0');
    if (rest.consume_front(".")) {
      good &= !rest.empty() && isDigit(rest[0]);
      rest = rest.drop_while(isDigit);
    }
    if (rest.consume_front("e") || rest.consume_front("E")) {
      if (!rest.consume_front("-"))
        rest.consume_front("+");
      good &= !rest.empty() && isDigit(rest[0]);
      rest = rest.drop_while(isDigit);
    }
    if (!good || !rest.empty())
      return error("expected a number as JSON writes it, found '" +
                   number.take_front(40) + "'");
    at += number.size();
    return Error::success();
  }

  StringRef text;
  size_t at = 0;
  /// The keys so far of each object or array around `at`.
  std::vector<StringSet<>> open;
};
} // namespace

Expected<json::Value> parseJson(StringRef text) {
  if (Error error = JsonScan(text).run())
    return std::move(error);
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return makeError(StatusCode::BadInput, "{0}", toString(value.takeError()));
  return value;
}

} // namespace heddle::runtime

//===- Text.cpp - Sentences of messages -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Text.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"

#include <tuple>

using namespace llvm;

namespace heddle::runtime {

static constexpr StringRef kEllipsis = "\xe2\x80\xa6";

static bool continuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::string shortened(StringRef text, size_t most) {
  if (text.size() <= most)
    return text.str();
  // The end of a message often has the expected value, so both ends stay.
  size_t begin = most * 2 / 3, end = text.size() - (most - begin - 3);
  while (begin > 0 && continuesCharacter(text[begin]))
    --begin;
  while (end < text.size() && continuesCharacter(text[end]))
    ++end;
  return (text.take_front(begin) + kEllipsis + text.drop_front(end)).str();
}

/// `line` with its long words shortened, then as a whole: the end of a sentence
/// stays although a name in it is long.
static std::string shortLine(StringRef line) {
  if (line.size() <= kMaxWord)
    return line.str();
  std::string result;
  while (!line.empty()) {
    StringRef word = line.take_until([](char c) { return c == ' '; });
    result += word.size() > kMaxWord ? shortened(word) : word.str();
    line = line.drop_front(word.size());
    StringRef blanks = line.take_while([](char c) { return c == ' '; });
    result += blanks.str();
    line = line.drop_front(blanks.size());
  }
  return shortened(result, kMaxMessageLine);
}

std::string shortMessage(StringRef text) {
  std::string result;
  size_t lines = 0;
  while (true) {
    if (++lines == kMaxMessageLines && text.contains('\n'))
      return result + kEllipsis.str();
    auto [line, rest] = text.split('\n');
    result += shortLine(line);
    if (line.size() == text.size())
      return result;
    result += '\n';
    text = rest;
  }
}

/// The bytes of the control character with which `text` begins, 0 if it begins
/// with another one.
static size_t controlBytes(StringRef text) {
  auto byte = static_cast<unsigned char>(text.front());
  if (byte == '\t' || byte == '\n' || text.starts_with("\r\n"))
    return 0;
  if (byte < 0x20 || byte == 0x7f)
    return 1;
  // U+0080 to U+009F in UTF-8.
  bool isControl = byte == 0xc2 && text.size() > 1 &&
                   static_cast<unsigned char>(text[1]) < 0xa0;
  return isControl ? 2 : 0;
}

/// The formatting character of UTF-8 with which `text` begins, such as U+202E,
/// and its bytes; 0 bytes if it begins with another one.
static std::pair<UTF32, size_t> formattingCharacter(StringRef text) {
  if (static_cast<unsigned char>(text.front()) < 0x80)
    return {0, 0};
  const auto *begin = reinterpret_cast<const UTF8 *>(text.begin());
  const UTF8 *end = begin;
  UTF32 character = 0;
  if (convertUTF8Sequence(&end, reinterpret_cast<const UTF8 *>(text.end()),
                          &character, strictConversion) != conversionOK)
    return {0, 0};
  // U+2028 and U+2029 end a line and a paragraph.
  bool formats = sys::unicode::isFormatting(static_cast<int>(character)) ||
                 character == 0x2028 || character == 0x2029;
  return {character, formats ? end - begin : 0};
}

std::string printable(StringRef text) {
  std::string result;
  while (!text.empty()) {
    size_t bytes = controlBytes(text);
    if (bytes) {
      result +=
          formatv("\\x{0:x-2}", static_cast<unsigned char>(text[bytes - 1]));
    } else {
      UTF32 character;
      std::tie(character, bytes) = formattingCharacter(text);
      if (bytes)
        result += formatv(character > 0xffff ? "\\U{0:x-8}" : "\\u{0:x-4}",
                          character);
      else
        result += text.front();
    }
    text = text.drop_front(std::max<size_t>(bytes, 1));
  }
  return result;
}

std::string listed(ArrayRef<StringRef> names, StringRef quote) {
  constexpr size_t most = 20;
  std::string result;
  for (StringRef name : names.take_front(most)) {
    result += result.empty() ? "" : ", ";
    result += (quote + shortened(name, 60) + quote).str();
  }
  if (names.size() > most)
    result += " and " + counted(names.size() - most, "other");
  return result;
}

} // namespace heddle::runtime

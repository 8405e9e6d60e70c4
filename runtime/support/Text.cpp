//===- Text.cpp - Sentences of messages -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Text.h"

#include "llvm/ADT/SmallVector.h"

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

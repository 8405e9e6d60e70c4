//===- Text.h - Sentences of messages -------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message repeats names and texts of its reader, which can be of any length.
// These functions keep it readable.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_TEXT_H
#define HEDDLE_RUNTIME_SUPPORT_TEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstddef>
#include <string>

namespace heddle {

/// `1 operand`, `2 operands`, `2 entries`, `2 indices`, for any integer. `noun`
/// is the singular form. Inline, because the dialects do not link the runtime.
template <typename Integer>
std::string counted(Integer count, llvm::StringRef noun) {
  std::string text = (llvm::Twine(count) + " ").str();
  if (count == 1)
    return text + noun.str();
  if (noun == "index")
    return text + "indices";
  bool endsInY =
      noun.ends_with("y") && !llvm::StringRef("aeiou").contains(
                                 noun.size() > 1 ? noun[noun.size() - 2] : 'a');
  if (endsInY)
    return text + noun.drop_back().str() + "ies";
  bool endsInHiss = noun.ends_with("s") || noun.ends_with("ch");
  return text + noun.str() + (endsInHiss ? "es" : "s");
}

namespace runtime {

/// The most bytes that a message repeats of one name or text.
inline constexpr size_t kMaxQuoted = 200;
/// A longer word of a message is shortened to that.
inline constexpr size_t kMaxWord = 400;
/// The most bytes of a line of a message, and the most lines.
inline constexpr size_t kMaxMessageLine = 1000;
inline constexpr size_t kMaxMessageLines = 20;

/// `text`, of which an ellipsis replaces the middle if it is longer than `most`
/// bytes. Characters of UTF-8 stay whole.
std::string shortened(llvm::StringRef text, size_t most = kMaxQuoted);

/// The lines of `text`, in which an ellipsis replaces parts that are too long,
/// and the last lines if there are too many.
std::string shortMessage(llvm::StringRef text);

/// `text` with its control characters written as `\x1b`, except for tabs and
/// ends of lines, and its formatting characters as `\u202e`. A name in a
/// message then cannot control a terminal, nor change the order of what it
/// shows.
std::string printable(llvm::StringRef text);

/// `'a', 'b'`, and the number of the others after the first twenty.
std::string listed(llvm::ArrayRef<llvm::StringRef> names,
                   llvm::StringRef quote = "'");

} // namespace runtime
} // namespace heddle

#endif // HEDDLE_RUNTIME_SUPPORT_TEXT_H

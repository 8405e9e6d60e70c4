//===- LongLines.cpp - wraps long lines of emitted source -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A break replaces a space after a semicolon or comma, or before an operator.
// Among the breaks that leave a first part of at most 120 columns, those with
// the fewest open brackets are best; among these, those with the lowest rank
// (rankOfBreak); among these, the last one.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/LongLines.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace heddle::cuda {

static constexpr size_t kWidth = 120;

/// The rank of a line break at `at` (1 is the best); 0 if there can be none.
static unsigned rankOfBreak(StringRef line, size_t at) {
  if (line[at] != ' ' || at == 0 || at + 1 >= line.size())
    return 0;
  if (line[at - 1] == ';')
    return 1;
  if (line[at - 1] == ',')
    return 2;
  auto precedes = [&](StringRef binary) {
    return line.substr(at + 1).starts_with(binary);
  };
  if (any_of(ArrayRef<StringRef>{"? ", ": ", "&& ", "|| "}, precedes))
    return 3;
  return any_of(ArrayRef<StringRef>{"+ ", "- ", "* ", "/ "}, precedes) ? 4 : 0;
}

/// The space at which to break a line that is too long, or npos.
static size_t breakOf(StringRef line, size_t indent) {
  size_t best = StringRef::npos;
  std::pair<size_t, unsigned> bestCost = {~size_t(0), 0}; // open brackets, rank
  SmallVector<char> open;
  for (size_t at = indent; at < std::min(line.size(), kWidth + 1); ++at) {
    char c = line[at];
    // An angle bracket without a space before it opens template arguments.
    bool opensArguments = c == '<' && at > 0 && isAlnum(line[at - 1]);
    if (c == '(' || c == '[' || c == '{' || opensArguments) {
      open.push_back(c);
    } else if (!open.empty() && (c == ')' || c == ']' || c == '}' ||
                                 (c == '>' && open.back() == '<'))) {
      open.pop_back();
    }
    unsigned rank = rankOfBreak(line, at);
    std::pair<size_t, unsigned> cost = {open.size(), rank};
    if (rank && cost <= bestCost) {
      best = at;
      bestCost = cost;
    }
  }
  return best;
}

static void printLine(StringRef line, raw_ostream &os) {
  size_t indent = line.find_first_not_of(' ');
  StringRef code = line.ltrim();
  if (line.size() <= kWidth || code.starts_with("#") ||
      code.starts_with("//") || code.contains('"')) {
    os << line << '\n';
    return;
  }
  // A comment at the end goes above the statement.
  if (size_t comment = line.find(" // "); comment != StringRef::npos) {
    os.indent(indent) << line.substr(comment + 1) << '\n';
    return printLine(line.take_front(comment).rtrim(), os);
  }
  std::string rest = line.str();
  size_t restIndent = indent;
  while (rest.size() > kWidth) {
    size_t at = breakOf(rest, restIndent);
    if (at == StringRef::npos)
      break;
    os << StringRef(rest).take_front(at) << '\n';
    restIndent = indent + 4;
    rest = std::string(restIndent, ' ') + rest.substr(at + 1);
  }
  os << rest << '\n';
}

std::string wrapLongLines(StringRef source) {
  std::string wrapped;
  raw_string_ostream os(wrapped);
  while (!source.empty()) {
    auto [line, rest] = source.split('\n');
    bool ended = line.size() < source.size();
    printLine(line, os);
    if (!ended)
      wrapped.pop_back();
    source = rest;
  }
  return wrapped;
}

} // namespace heddle::cuda

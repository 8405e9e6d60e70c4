//===- Console.cpp - colours, progress and tables -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress goes to standard error, so it never mixes with piped output.
//
//===----------------------------------------------------------------------===//

#include "Console.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace llvm;

namespace heddle::cli {

static bool isTerminal(int descriptor) {
  const char *kind = std::getenv("TERM");
  return isatty(descriptor) && kind && std::strcmp(kind, "dumb") != 0;
}

std::string paint(Colour colour, StringRef text) {
  static const bool coloured = [] {
    const char *refused = std::getenv("NO_COLOR");
    return isTerminal(STDOUT_FILENO) && !(refused && *refused);
  }();
  if (!coloured)
    return text.str();
  static const char *const codes[] = {"1", "31", "32", "33"};
  return formatv("\033[{0}m{1}\033[0m", codes[static_cast<int>(colour)], text);
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

Progress::Progress() : terminal(isTerminal(STDERR_FILENO)) {}

Progress::~Progress() { clear(); }

void Progress::show(const Twine &text) {
  if (!terminal)
    return;
  std::string line = text.str();
  if (line.size() > 78)
    line.resize(78);
  // Blanks erase the rest of a longer line, without escape sequences.
  size_t blanks = width > line.size() ? width - line.size() : 0;
  errs() << '\r' << line << std::string(blanks, ' ');
  errs().flush();
  width = line.size();
}

void Progress::clear() {
  if (width == 0)
    return;
  // The destructor calls this function, so it must not allocate memory.
  errs() << '\r';
  errs().indent(width) << '\r';
  errs().flush();
  width = 0;
}

//===----------------------------------------------------------------------===//
// Tables and numbers
//===----------------------------------------------------------------------===//

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t k = 0; k < row.size(); ++k)
      widths[k] = std::max(widths[k], row[k].size());
  }
  bool header = true;
  for (const auto &row : rows) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k) {
      std::string blanks(widths[k] - row[k].size(), ' ');
      line += (k ? "  " : "") + (k ? blanks + row[k] : row[k] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    outs() << (header ? paint(Colour::bold, line) : line) << '\n';
    header = false;
  }
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3;
       at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::string duration(double seconds) {
  if (seconds < 1e-3)
    return formatv("{0:f1} us", seconds * 1e6);
  if (seconds < 1)
    return formatv("{0:f2} ms", seconds * 1e3);
  return formatv("{0:f2} s", seconds);
}

} // namespace heddle::cli

//===- Console.h - what people see ------------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Colours where the output is a terminal and NO_COLOR is not set, progress on
// standard error where that is one, and tables.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_CONSOLE_H
#define HEDDLE_TOOLS_HEDDLE_CONSOLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>
#include <vector>

namespace heddle::cli {

enum class Colour { bold, red, green, yellow };

/// `text` in a colour, if standard output shows colours.
std::string paint(Colour colour, llvm::StringRef text);

/// One line on standard error that is written over as work goes on; nothing is
/// shown where standard error is no terminal. Gone when the object is.
class Progress {
public:
  Progress();
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(const llvm::Twine &text);
  void clear();

private:
  bool terminal;
  size_t width = 0;
};

/// Rows of text, printed in columns: the first to the left, the others to the
/// right.
class Table {
public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print() const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// 25557032 as "25,557,032".
std::string grouped(int64_t number);

/// Seconds as "12.3 us", "4.56 ms" or "7.8 s".
std::string duration(double seconds);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_CONSOLE_H

//===- Console.h - colours, progress and tables -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Colours appear only on a terminal and only if NO_COLOR is unset; progress
// appears only if standard error is a terminal.
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

/// Returns `text` in a colour if standard output shows colours.
std::string paint(Colour colour, llvm::StringRef text);

/// A status line on standard error that each update overwrites. It shows
/// nothing unless standard error is a terminal; the destructor clears it.
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

/// A text table: the first column is left-aligned, the others right-aligned.
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

//===- Source.h - The CUDA C++ source of a program --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A source is a list of sections. Each section has the entries that need it;
// all sections in order are the readable source. Entries that need the same
// sections form a unit. Units are compiled independently of each other, on
// parallel threads.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_SOURCE_H
#define HEDDLE_RUNTIME_PLAN_SOURCE_H

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace heddle::runtime {

struct SourceSection {
  std::string text;
  /// The entries that need this section; empty: all.
  std::vector<std::string> entries;

  bool operator==(const SourceSection &) const = default;
};

/// One translation unit with its entries.
struct SourceUnit {
  std::vector<std::string> entries;
  std::string text;
};

struct Source {
  std::vector<SourceSection> sections;

  Source() = default;
  /// A source of one section, which all entries need.
  Source(std::string text) { *this = std::move(text); }
  Source &operator=(std::string text);

  bool empty() const { return sections.empty(); }
  void clear() { sections.clear(); }
  /// The text of all sections in order.
  std::string text() const;
  /// The units of `entries`, in the order of their first entries.
  std::vector<SourceUnit> units(llvm::ArrayRef<std::string> entries) const;

  bool operator==(const Source &) const = default;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_SOURCE_H

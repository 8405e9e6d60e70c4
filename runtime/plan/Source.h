//===- Source.h - The CUDA C++ source of a program --------------*- C++ -*-===//
//
// One readable text, cut into sections that say which kernel entries need them.
// Entries that need the same sections form a unit; units compile independently
// of each other, on parallel threads.
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

/// What compiles as one translation unit.
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
  /// All sections in order.
  std::string text() const;
  /// The units of `entries`, in the order in which their first entries come.
  std::vector<SourceUnit> units(llvm::ArrayRef<std::string> entries) const;

  bool operator==(const Source &) const = default;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_SOURCE_H

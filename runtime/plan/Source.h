//===- Source.h - The CUDA C++ source of a program --------------*- C++ -*-===//
//
// A list of sections. Each names the kernel entries that need it, and all of
// them in order are the readable source. Entries that need the same sections
// form a unit. Units compile independently of each other, on parallel threads.
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

/// One translation unit.
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

//===- Source.cpp - The CUDA C++ source of a program ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Source.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

Source &Source::operator=(std::string text) {
  sections.clear();
  if (!text.empty())
    sections.push_back({std::move(text), {}});
  return *this;
}

std::string Source::text() const {
  std::string all;
  for (const SourceSection &section : sections)
    all += section.text;
  return all;
}

std::vector<SourceUnit> Source::units(ArrayRef<std::string> entries) const {
  std::vector<SourceUnit> units;
  std::vector<std::vector<bool>> sectionsOfUnits;
  for (const std::string &entry : entries) {
    std::vector<bool> needed;
    for (const SourceSection &section : sections)
      needed.push_back(section.entries.empty() ||
                       is_contained(section.entries, entry));
    auto same = find(sectionsOfUnits, needed);
    if (same == sectionsOfUnits.end()) {
      SourceUnit &unit = units.emplace_back();
      unit.entries.push_back(entry);
      for (const auto &[section, isNeeded] : zip(sections, needed))
        if (isNeeded)
          unit.text += section.text;
      sectionsOfUnits.push_back(std::move(needed));
      continue;
    }
    std::vector<std::string> &own =
        units[same - sectionsOfUnits.begin()].entries;
    if (!is_contained(own, entry))
      own.push_back(entry);
  }
  return units;
}

} // namespace heddle::runtime

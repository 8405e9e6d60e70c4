//===- ScaledPrograms.cpp - programs of every size ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledParts.h"

#include "llvm/ADT/STLExtras.h"

namespace heddle::test {

std::string ScaledProgram::text(int n) const {
  if (compose)
    return compose(n);
  FunctionText function;
  write(function, n);
  return function.str();
}

/// Standard programs, one after another.
static std::string parts(int n) {
  std::string text;
  for (int k = 1; k < n; ++k)
    text += k < n / 2 ? "average+" : "clip_by_value+";
  return text + "sgd";
}

llvm::ArrayRef<ScaledProgram> scaledPrograms() {
  static const std::vector<ScaledProgram> programs = [] {
    std::vector<ScaledProgram> all;
    for (auto part : {scaledMaps, scaledScalars, scaledReductions, scaledLoops,
                      scaledPanels})
      llvm::append_range(all, part());
    all.push_back(
        {"parts", "programs of a composition", 512, nullptr, 2.4, parts});
    return all;
  }();
  return programs;
}

} // namespace heddle::test

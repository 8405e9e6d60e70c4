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
  FunctionText function;
  write(function, n);
  return function.str();
}

llvm::ArrayRef<ScaledProgram> scaledPrograms() {
  static const std::vector<ScaledProgram> programs = [] {
    std::vector<ScaledProgram> all;
    for (auto part : {scaledMaps, scaledScalars, scaledReductions, scaledLoops,
                      scaledPanels})
      llvm::append_range(all, part());
    return all;
  }();
  return programs;
}

} // namespace heddle::test

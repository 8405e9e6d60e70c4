//===- ScaledParts.h - the parts of scaledPrograms() ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SCALING_SCALEDPARTS_H
#define HEDDLE_TEST_SCALING_SCALEDPARTS_H

#include "ScaledPrograms.h"

#include <vector>

namespace heddle::test {

/// Writes a map from a parameter and a gradient to the next parameter.
void writeUpdate(FunctionText &function, const llvm::Twine &to,
                 const llvm::Twine &param, const llvm::Twine &grad,
                 const llvm::Twine &rate);

std::vector<ScaledProgram> scaledMaps();
std::vector<ScaledProgram> scaledScalars();
std::vector<ScaledProgram> scaledReductions();
std::vector<ScaledProgram> scaledLoops();
std::vector<ScaledProgram> scaledPanels();

} // namespace heddle::test

#endif // HEDDLE_TEST_SCALING_SCALEDPARTS_H

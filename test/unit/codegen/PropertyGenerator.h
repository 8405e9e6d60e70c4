//===- PropertyGenerator.h - random programs --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a foreach program and inputs for it from a seed.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_PROPERTYGENERATOR_H
#define HEDDLE_TEST_UNIT_CODEGEN_PROPERTYGENERATOR_H

#include "CudaHarness.h"

namespace heddle::test {

/// The number of each construct in a random program.
struct Features {
  int loops = 0, nestedLoops = 0, branches = 0, balancing = 0, records = 0;
  int matrices = 0, rowsOrColumns = 0;
};

struct RandomProgram {
  /// A module whose function is called `name`.
  std::string text;
  Inputs inputs;
  /// Whether there are only additions, multiplications, divisions and square
  /// roots.
  bool isExact = true;
  /// Whether fusion keeps the order of reductions.
  bool keepsOrder = true;
  int statements = 0;
  Features features;
};

/// Draws the program of `seed`. With fewer statements, the beginning of the
/// same program.
RandomProgram drawProgram(uint64_t seed, const std::string &name,
                          int mostStatements = 100);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_PROPERTYGENERATOR_H

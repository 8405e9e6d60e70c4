//===- CudaPrograms.h - programs that test the CUDA source ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CODEGEN_CUDAPROGRAMS_H
#define HEDDLE_TEST_UNIT_CODEGEN_CUDAPROGRAMS_H

#include <ostream>
#include <string>
#include <vector>

namespace heddle::test {

struct NamedProgram {
  std::string name;
  /// The text of a module, or the name of a standard program with options.
  std::string text;
  /// Only additions, multiplications, divisions and square roots: every target
  /// gives the same bits.
  bool isExact = true;
  /// Whether fusion keeps the order of reductions. A reduction of row values
  /// that is fused with the sweep that computes them combines them down the
  /// rows.
  bool keepsOrder = true;

  friend void PrintTo(const NamedProgram &program, std::ostream *os) {
    *os << program.name;
  }
};

/// Standard programs with all their options, dtypes and compositions.
const std::vector<NamedProgram> &standardPrograms();
/// Modules with features that no standard program uses.
const std::vector<NamedProgram> &writtenPrograms();

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CODEGEN_CUDAPROGRAMS_H

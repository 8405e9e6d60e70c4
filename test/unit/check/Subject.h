//===- Subject.h - a program to check ---------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws programs, shapes and data from seeds, and runs `heddle run --check` on
// them in this process, with the code of the cpu target as emitted or changed.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CHECK_SUBJECT_H
#define HEDDLE_TEST_UNIT_CHECK_SUBJECT_H

#include "RunCheck.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class Module;
}

namespace heddle::test {

/// A program with its shapes and the seed of its data.
struct Subject {
  std::string program;
  std::vector<Extents> shapes;
  uint64_t seed = 0;
  int64_t steps = 2;
};

/// A standard program with some of its options, an example, or a random
/// program.
std::string drawSubjectProgram(uint64_t seed);
/// Small shapes, some empty or of one element.
std::vector<Extents> drawShapes(uint64_t seed);

/// The elements of each result, members one after the other.
using Elements = std::vector<std::vector<double>>;

struct Outcome {
  std::string error; ///< of the compiler or the run; empty if there is none
  Elements elements;
  std::vector<cli::ResultCheck> checks;
};

/// Installs a compiler that keeps its last result.
void installTestCompiler();
/// From now on, `change` changes each module that the compiler emits.
void changeModules(llvm::function_ref<void(llvm::Module &)> change);

Outcome run(const Subject &subject, bool check = true);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CHECK_SUBJECT_H

//===- Stages.h - the work of each stage of a compilation -------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a program and measures every stage: reading, each pass, printing,
// plan, CUDA source, LLVM IR of the cpu target, and `explain`.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SCALING_STAGES_H
#define HEDDLE_TEST_SCALING_STAGES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::test {

struct Stage {
  std::string name;
  uint64_t work;  ///< see dialect/WorkCounter.h
  double seconds; ///< of processor time
};

/// All stages, in order. With `all`, also those whose work is mostly in LLVM or
/// in the runtime, and is therefore not counted: the plan as JSON, and
/// machine code for the cpu target.
llvm::Expected<std::vector<Stage>> compileInStages(llvm::StringRef program,
                                                   bool all);

} // namespace heddle::test

#endif // HEDDLE_TEST_SCALING_STAGES_H

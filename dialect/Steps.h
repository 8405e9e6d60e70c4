//===- Steps.h - a measure of the compiler's work ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is one basic block of heddle's own code that runs. Unlike seconds,
// steps are the same on every run, so a test can limit their growth with the
// size of a program. (A step of a program is another thing: one execution.)
// With HEDDLE_COUNT_STEPS, as in the preset `dev`, the C++ compiler adds a call
// to every block, also to those of LLVM's inline functions. Work inside LLVM's
// libraries is not counted.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_STEPS_H
#define HEDDLE_DIALECT_STEPS_H

#include <cstdint>

namespace heddle {

/// Whether this build counts steps.
bool countsSteps();

/// The steps of this thread so far.
uint64_t countedSteps();

} // namespace heddle

#endif // HEDDLE_DIALECT_STEPS_H

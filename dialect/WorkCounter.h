//===- WorkCounter.h - a measure of the compiler's work ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A unit of work is one basic block of heddle's own code that runs. Unlike
// seconds, the count is the same on every run, so a test can limit its growth
// with the size of a program. With HEDDLE_COUNT_WORK, as in the preset `dev`,
// the C++ compiler adds a call to every block, also to those of LLVM's inline
// functions. Work inside LLVM's libraries is not counted.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_WORKCOUNTER_H
#define HEDDLE_DIALECT_WORKCOUNTER_H

#include <cstdint>

namespace heddle {

/// Whether this build counts work.
bool countsWork();

/// The units of work of this thread so far.
uint64_t countedWork();

} // namespace heddle

#endif // HEDDLE_DIALECT_WORKCOUNTER_H

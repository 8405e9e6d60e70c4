//===- CpuProgram.cpp - A program of the cpu target -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/CpuProgram.h"

#include "runtime/support/Fork.h"
#include "runtime/support/MemoryReserve.h"

namespace heddle::runtime {

void CpuProgram::Deleter::operator()(CpuProgram *program) const noexcept {
  try {
    // LLVM allocates memory to free machine code. The reserve has a lock, which
    // no child may inherit. Both live here and not in the destructor of a
    // program, because an exception runs no destructors in code that is
    // compiled without exceptions.
    ForkDelay delay;
    MemoryReserve reserve;
    delete program;
  } catch (...) {
    // A destructor has no status to report it with.
  }
}

} // namespace heddle::runtime

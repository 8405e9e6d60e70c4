//===- CpuProgram.cpp - A program of the cpu target -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/CpuProgram.h"

namespace heddle::runtime {

void CpuProgram::Deleter::operator()(CpuProgram *program) const noexcept {
  try {
    delete program;
  } catch (...) {
    // A destructor has no status to report it with.
  }
}

} // namespace heddle::runtime

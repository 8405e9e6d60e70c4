//===- CpuProgram.cpp - A program of the cpu target -----------------------===//

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

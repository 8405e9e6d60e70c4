//===- CpuTarget.h - fused IR to machine code of this process ---*- C++ -*-===//
//
// The cpu target: what docs/plan.md says under 'Source'. A pure function of the
// placed, scheduled and named kernel, and of the host's instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_CPUTARGET_H
#define HEDDLE_CODEGEN_CPU_CPUTARGET_H

#include "dialect/Fused.h"
#include "runtime/CpuProgram.h"

#include <memory>

namespace heddle {

/// Compiles every sweep of `kernel`, those in loops included. What is wrong
/// with the IR is reported at its operations; the error then says so.
llvm::Expected<std::unique_ptr<runtime::CpuProgram>>
compileForCpu(fused::ProgramOp kernel);

/// The LLVM IR of `kernel`, as it is emitted or `optimized` for this host.
llvm::Expected<std::string> printCpuIr(fused::ProgramOp kernel, bool optimized);

} // namespace heddle

#endif // HEDDLE_CODEGEN_CPU_CPUTARGET_H

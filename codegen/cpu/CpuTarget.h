//===- CpuTarget.h - fused IR to machine code of this process ---*- C++ -*-===//
//
// The cpu target (docs/plan.md, Source). A pure function of the scheduled
// program with its buffers and names, and of the host's instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_CPUTARGET_H
#define HEDDLE_CODEGEN_CPU_CPUTARGET_H

#include "dialect/Fused.h"
#include "runtime/program/CpuProgram.h"

#include <memory>

namespace heddle {

/// Compiles every sweep of `kernel`, including those in loops. Errors of the IR
/// are reported at its operations; the returned error then refers to them.
llvm::Expected<std::unique_ptr<runtime::CpuProgram>>
compileForCpu(fused::ProgramOp kernel);

/// The LLVM IR of `kernel`, as emitted or `optimized` for this host.
llvm::Expected<std::string> printCpuIr(fused::ProgramOp kernel, bool optimized);

} // namespace heddle

#endif // HEDDLE_CODEGEN_CPU_CPUTARGET_H

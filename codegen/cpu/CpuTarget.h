//===- CpuTarget.h - fused IR to machine code of this process ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu target (docs/plan.md, The cpu target). Its output depends only on the
// scheduled program with its buffers and names, and on the instruction set of
// the host.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_CPUTARGET_H
#define HEDDLE_CODEGEN_CPU_CPUTARGET_H

#include "dialect/Fused.h"
#include "runtime/program/CpuProgram.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace llvm {
class Module;
}

namespace heddle {

/// Compiles every sweep of `program`, including those in loops. Errors in the
/// IR are reported at its operations; the returned error then refers to them.
/// `change` changes the emitted module before it is optimized: tests put errors
/// there.
llvm::Expected<std::unique_ptr<runtime::CpuProgram>>
compileForCpu(fused::ProgramOp program,
              llvm::function_ref<void(llvm::Module &)> change = {});

/// The LLVM IR of `program` before it is optimized.
llvm::Expected<std::string> printCpuIr(fused::ProgramOp program);

} // namespace heddle

#endif // HEDDLE_CODEGEN_CPU_CPUTARGET_H

//===- Host.h - the machine that code is compiled for -----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the instruction set of this process and the features that the emitter
// uses.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_HOST_H
#define HEDDLE_CODEGEN_CPU_HOST_H

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace heddle::cpu {

/// Features of the host that the emitter uses.
struct HostTraits {
  /// Whether instructions convert between f16 and f32; otherwise integer
  /// arithmetic does.
  bool convertsF16 = false;
  /// Whether a fused multiply-add is one instruction rather than a call.
  bool hasFma = false;
};

class Host {
public:
  static llvm::Expected<Host> detect();

  HostTraits traits;
  llvm::orc::JITTargetMachineBuilder builder;
  std::unique_ptr<llvm::TargetMachine> machine;

  /// Sets the data layout of `module` for this host.
  void prepare(llvm::Module &module) const;
  /// Runs the optimization pipeline.
  void optimize(llvm::Module &module) const;

private:
  explicit Host(llvm::orc::JITTargetMachineBuilder builder)
      : builder(std::move(builder)) {}
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_HOST_H

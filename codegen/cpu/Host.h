//===- Host.h - the machine that code is made for ---------------*- C++ -*-===//
//
// The instruction set of this process and what of it decides how code is
// emitted.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_HOST_H
#define HEDDLE_CODEGEN_CPU_HOST_H

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace heddle::cpu {

/// What the emitter asks about the host.
struct HostTraits {
  /// Instructions convert between f16 and f32; otherwise integers do.
  bool convertsF16 = false;
  /// A fused multiply-add is one instruction and not a call.
  bool hasFma = false;
};

class Host {
public:
  static llvm::Expected<Host> detect();

  HostTraits traits;
  llvm::orc::JITTargetMachineBuilder builder;
  std::unique_ptr<llvm::TargetMachine> machine;

  /// Lays `module` out for this host and runs the optimisation pipeline.
  void prepare(llvm::Module &module) const;
  void optimize(llvm::Module &module) const;

private:
  explicit Host(llvm::orc::JITTargetMachineBuilder builder)
      : builder(std::move(builder)) {}
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_HOST_H

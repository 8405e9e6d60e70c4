//===- Executable.h - Compiled kernels and their plan ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An executable does not change after its creation. Any number of graphs and
// threads share it. Creation for a named architecture needs NVRTC but no GPU.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_EXECUTABLE_H
#define HEDDLE_RUNTIME_PROGRAM_EXECUTABLE_H

#include "runtime/program/Compiler.h"
#include "runtime/program/KernelUnits.h"

namespace heddle::runtime {

class Executable {
public:
  /// When the kernels of a program with a panel loop are compiled. Those of
  /// other programs are compiled at once.
  enum class Compile {
    now,
    /// With the first binding, in one batch with the size class of its extents.
    withBinding
  };
  /// Compiles the plan's source for `arch` (through the disk cache), or takes
  /// the cpu program.
  static llvm::Expected<std::shared_ptr<Executable>>
  create(CompiledProgram program, Target target, llvm::StringRef arch,
         Compile when = Compile::now);

  const std::shared_ptr<const Plan> &plan() const { return program; }
  Target target() const { return programTarget; }
  const std::string &arch() const { return architecture; }
  /// NVRTC's log of the units that create() compiled.
  llvm::StringRef log() const { return compileLog; }
  CpuProgram *cpu() const { return cpuProgram.get(); }
  /// The compiled kernels; null for the cpu target.
  KernelUnits *kernels() const { return units.get(); }

private:
  std::shared_ptr<const Plan> program;
  Target programTarget = Target::Cuda;
  std::string architecture, compileLog;
  std::unique_ptr<KernelUnits> units;
  std::shared_ptr<CpuProgram> cpuProgram;
};

/// Whether `text` is the name of an architecture, such as sm_80 or sm_90a.
/// NVRTC decides whether it exists.
bool isArch(llvm::StringRef text);

/// Completes a target ("", "cuda" or "cpu") and an architecture (may be empty).
/// By default the target is cuda if `arch` is given or there is a GPU, else
/// cpu, and the architecture is the GPU's. BadInput for another target or
/// anything that is not an architecture.
llvm::Expected<std::pair<Target, std::string>>
chooseTarget(llvm::StringRef target, llvm::StringRef arch);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_EXECUTABLE_H

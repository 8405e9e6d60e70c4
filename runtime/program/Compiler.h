//===- Compiler.h - The runtime's interface to the compiler ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface takes programs, but the runtime does not use MLIR.
// codegen/compiler implements this interface and installs it from a static
// object. Without it, the runtime can load plans only.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_COMPILER_H
#define HEDDLE_RUNTIME_PROGRAM_COMPILER_H

#include "runtime/plan/Plan.h"
#include "runtime/program/CpuProgram.h"
#include "runtime/support/MemoryReserve.h"

#include <exception>
#include <memory>
#include <string>

namespace heddle::runtime {

enum class Target { Cuda, Cpu };

/// The result of compiling a program.
struct CompiledProgram {
  Plan plan; ///< with source, headers and options for the cuda target
  std::shared_ptr<CpuProgram> cpu; ///< for the cpu target, else null
};

struct CompileRequest {
  /// The path of a .mlir file, the text of a module (with a newline or '{'), or
  /// standard programs with options, joined by '+'.
  std::string program;
  Target target = Target::Cuda;
  /// An architecture such as "sm_90"; never empty for the cuda target.
  std::string arch;
};

class Compiler {
public:
  virtual ~Compiler() = default;

  virtual llvm::Expected<CompiledProgram>
  compile(const CompileRequest &request) = 0;

  /// The text of a stage: "foreach", "fused", "cuda" or "plan". (The runtime
  /// makes "ptx" and "cubin" from the plan.)
  virtual llvm::Expected<std::string> emit(const CompileRequest &request,
                                           llvm::StringRef stage) = 0;

  /// The output of `heddle explain`, as text or JSON. `shapes` is a JSON array
  /// of arrays of extents, or empty.
  virtual llvm::Expected<std::string>
  explain(const CompileRequest &request, llvm::StringRef shapes, bool json) = 0;

  /// Installs the compiler of this process.
  static void install(std::unique_ptr<Compiler> compiler);
  /// The compiler of this process. Unavailable if none was installed, or if an
  /// exception ended a Use.
  static llvm::Expected<Compiler *> get();

  /// Surrounds code that runs LLVM or MLIR. An exception that passes their
  /// frames may leave their global tables half-way, so the compiler is not used
  /// again after it.
  class Use {
  public:
    ~Use();

  private:
    MemoryReserve reserve;
    int exceptions = std::uncaught_exceptions();
  };
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_COMPILER_H

//===- Compiler.h - How the runtime reaches the compiler ------------------===//
//
// The C ABI takes program text; the runtime knows no MLIR. codegen implements
// this interface and registers it from a static object of its own; without it
// only plans can be loaded.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_COMPILER_H
#define HEDDLE_RUNTIME_PROGRAM_COMPILER_H

#include "runtime/plan/Plan.h"
#include "runtime/program/CpuProgram.h"

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
  /// Path of a .mlir file, module text (it holds a newline or '{'), or a
  /// library name with options; composed with '+'.
  std::string program;
  Target target = Target::Cuda;
  /// E.g. "sm_90"; never empty for the cuda target.
  std::string arch;
};

class Compiler {
public:
  virtual ~Compiler() = default;

  virtual llvm::Expected<CompiledProgram>
  compile(const CompileRequest &request) = 0;

  /// A stage of the program as a string: "foreach", "fused", "cuda" or "plan"
  /// (the runtime makes "ptx" and "cubin" from the plan).
  virtual llvm::Expected<std::string> emit(const CompileRequest &request,
                                           llvm::StringRef stage) = 0;

  /// The effect of fusion. `shapes` is the text of a shapes file with an
  /// optional
  /// ":MODEL" resolved already (an array of arrays of extents), or empty;
  /// `json` asks for JSON.
  virtual llvm::Expected<std::string>
  explain(const CompileRequest &request, llvm::StringRef shapes, bool json) = 0;

  /// Makes `compiler` the one of this process.
  static void install(std::unique_ptr<Compiler> compiler);
  /// Unavailable if none was installed.
  static llvm::Expected<Compiler *> get();
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_COMPILER_H

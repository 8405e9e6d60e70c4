//===- ProgramCompiler.h - from program text to what runs -------*- C++ -*-===//
//
// What the runtime calls the compiler through: text or a library name in, IR of
// any stage, CUDA source, plan and machine code out.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_PROGRAMCOMPILER_H
#define HEDDLE_CODEGEN_PROGRAMCOMPILER_H

#include "codegen/Buffers.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Pipelines.h"
#include "runtime/Compiler.h"
#include "llvm/Support/SourceMgr.h"

namespace heddle {

/// One program on its way through the compiler. Diagnostics of all stages are
/// collected and become the text of the error that a stage returns.
class Compilation {
public:
  explicit Compilation(PipelineOptions options = {});
  ~Compilation();

  /// Reads `program`: the path of a `.mlir` file, module text, or the name of a
  /// library program with options, composed with `+`. `dtype` is the library's
  /// option of that name where the text gives none.
  llvm::Error read(llvm::StringRef program, llvm::StringRef dtype = "");

  /// Runs the pipeline; the module then holds one placed `fused.program`.
  llvm::Error lower();

  mlir::ModuleOp getModule() { return *module; }
  /// The kernel and its buffers, after `lower`.
  fused::ProgramOp getKernel() { return kernel; }
  const Buffers &getBuffers() const { return *buffers; }
  /// What the passes remarked, if the options ask for it.
  llvm::ArrayRef<std::string> getRemarks() const { return remarks; }

  /// Plan with source, headers and options of the cuda target.
  llvm::Expected<runtime::Plan> planForCuda();
  llvm::Expected<runtime::CompiledProgram> compile(runtime::Target target);

  /// The error that what was diagnosed so far makes; `what` where nothing was.
  llvm::Error failure(llvm::StringRef what);

private:
  std::unique_ptr<mlir::MLIRContext> context;
  llvm::SourceMgr sources;
  std::string diagnostics;
  llvm::raw_string_ostream diagnosticsStream{diagnostics};
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> remarkHandler;
  llvm::SmallVector<std::string> remarks;
  PipelineOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  fused::ProgramOp kernel;
  std::optional<Buffers> buffers;
};

/// Makes the compiler known to the runtime.
void installCompiler();

} // namespace heddle

#endif // HEDDLE_CODEGEN_PROGRAMCOMPILER_H

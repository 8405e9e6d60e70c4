//===- ProgramCompiler.h - from a program to source and plan ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface through which the runtime calls the compiler. The input is a
// module or the name of a standard program; the output is IR, CUDA source, a
// plan or machine code.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_PROGRAMCOMPILER_H
#define HEDDLE_CODEGEN_COMPILER_PROGRAMCOMPILER_H

#include "codegen/compiler/Diagnostics.h"
#include "codegen/layout/Buffers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "passes/Pipelines.h"
#include "runtime/program/Compiler.h"
#include "llvm/Support/SourceMgr.h"

namespace heddle {

/// A single-threaded context with the dialects of programs.
std::unique_ptr<mlir::MLIRContext> createContext();

/// The compilation of one program. Diagnostics are collected; a function that
/// fails returns them as its error.
class Compilation {
public:
  /// Uses `context`, which must outlive the compilation, or its own context if
  /// null.
  explicit Compilation(PipelineOptions options = {},
                       mlir::MLIRContext *context = nullptr);
  ~Compilation();

  /// Reads `program`: the path of a `.mlir` file, the source of a module, or
  /// standard programs with options, joined by `+`. `dtype` is the default of a
  /// standard program's option `dtype`.
  llvm::Error read(llvm::StringRef program, llvm::StringRef dtype = "");

  /// An error unless the module has one function or one fused program, and
  /// nothing else. `read` has inlined the private functions.
  llvm::Error checkProgram();
  /// Runs the pipeline. The module then holds one fused program with assigned
  /// buffers. `watch` is called before and after each pass.
  llvm::Error lower(std::unique_ptr<mlir::PassInstrumentation> watch = {});

  mlir::ModuleOp getModule() { return *module; }
  /// The function of a module that has one, before `lower`.
  llvm::Expected<mlir::func::FuncOp> onlyFunction();
  llvm::Error notOneFunction(llvm::ArrayRef<mlir::Operation *> programs);
  /// The fused program and its buffers, after `lower`.
  fused::ProgramOp getProgram() { return fusedProgram; }
  const Buffers &getBuffers() const { return *buffers; }
  /// The remarks of the passes, if the options enable them.
  llvm::ArrayRef<std::string> getRemarks() const { return remarks; }

  /// The plan with the source, headers and compiler options of the cuda target.
  llvm::Expected<runtime::Plan> planForCuda();
  llvm::Expected<runtime::CompiledProgram> compile(runtime::Target target);

  /// The diagnostics so far, as an error; `fallback` if there are none.
  llvm::Error failure(llvm::StringRef fallback);

private:
  std::unique_ptr<mlir::MLIRContext> ownContext;
  mlir::MLIRContext *context;
  llvm::SourceMgr sources;
  Diagnostics diagnostics;
  mlir::ScopedDiagnosticHandler remarkHandler;
  llvm::SmallVector<std::string> remarks;
  PipelineOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  fused::ProgramOp fusedProgram;
  std::optional<Buffers> buffers;
};

/// Registers the compiler with the runtime.
void installCompiler();

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_PROGRAMCOMPILER_H

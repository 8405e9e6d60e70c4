//===- ProgramText.h - reading and printing programs ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses and prints modules without losing the names of values.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_PROGRAMTEXT_H
#define HEDDLE_DIALECT_PROGRAMTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
}

namespace heddle {

/// Parses and verifies the text of a module, and expands its shorthands
/// (Shorthands.h); `source` names it in diagnostics.
/// Bytecode is an error, because MLIR's reader trusts it. Values keep their SSA
/// names (see Names.h). Emits diagnostics to the context and returns null if
/// the module is not valid.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(llvm::StringRef text,
                                               llvm::StringRef source,
                                               mlir::MLIRContext *context);

/// Parses the main file of `manager`; the context's handlers receive the
/// diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(llvm::SourceMgr &manager,
                                               mlir::MLIRContext *context);

/// Prints a module with the names of its values.
void printProgram(mlir::Operation *module, llvm::raw_ostream &os);

} // namespace heddle

#endif // HEDDLE_DIALECT_PROGRAMTEXT_H

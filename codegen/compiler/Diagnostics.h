//===- Diagnostics.h - the errors of a compilation as text ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An error shows the place in the program: its line, or the part of a long line
// around the column, and a mark below. Messages of MLIR's parser and verifiers
// appear in heddle's terms.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_DIAGNOSTICS_H
#define HEDDLE_CODEGEN_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

#include <string>

namespace heddle {

/// Collects the errors and warnings of a context. MLIR's own handler prints
/// whole lines, and opens files that a location of the program names.
class Diagnostics {
public:
  /// `sources` has the text of the program, if the program is a text.
  Diagnostics(mlir::MLIRContext *context, const llvm::SourceMgr &sources);

  /// The name of the standard programs, at whose columns errors are.
  void setProgramName(llvm::StringRef name) { programName = name.str(); }

  /// All messages so far, without a line break at the end.
  llvm::StringRef text() const { return llvm::StringRef(collected).rtrim(); }

private:
  void add(mlir::Location location, llvm::StringRef severity,
           llvm::StringRef message, bool showLine);

  const llvm::SourceMgr &sources;
  mlir::MLIRContext *context;
  std::string programName, collected;
  mlir::LocationAttr last; ///< the place of the last message
  size_t lastBegin = 0;    ///< its first byte in `collected`
  mlir::ScopedDiagnosticHandler handler;
};

/// A message of MLIR in heddle's terms; empty if it says nothing to a user. The
/// text of the program around the place of the message is `before` and `after`.
std::string translateMessage(llvm::StringRef message, llvm::StringRef before,
                             llvm::StringRef after, mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_DIAGNOSTICS_H

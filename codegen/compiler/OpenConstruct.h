//===- OpenConstruct.h - the construct at a place of a text -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser says which token it expected, but not for which operation.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_OPENCONSTRUCT_H
#define HEDDLE_CODEGEN_COMPILER_OPENCONSTRUCT_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

namespace heddle {

/// The construct at the end of a text.
struct OpenConstruct {
  /// The name of the last operation or of the type that is defined, in the
  /// text; empty if there is none.
  llvm::StringRef name;
  /// The number of braces that are open.
  unsigned depth = 0;
};

OpenConstruct openConstruct(llvm::StringRef text, mlir::MLIRContext *context);

/// The operation that `word` names: `return` is `func.return` in a function.
/// Empty if there is none.
llvm::StringRef operationNamed(llvm::StringRef word,
                               mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_OPENCONSTRUCT_H

//===- SyntaxMessages.h - messages about the tokens of a program *- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_SYNTAXMESSAGES_H
#define HEDDLE_CODEGEN_COMPILER_SYNTAXMESSAGES_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace heddle {

/// The message in heddle's words if it is one of MLIR's parser about a token;
/// else nothing. The text around its place is `before` and `after`.
std::optional<std::string> syntaxMessage(llvm::StringRef message,
                                         llvm::StringRef before,
                                         llvm::StringRef after,
                                         mlir::MLIRContext *context);

/// The number of bytes of `text` before the place of a message. MLIR gives
/// `offset`, which can be behind the name that is wrong.
size_t placeOfMessage(llvm::StringRef message, llvm::StringRef text,
                      size_t offset);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_SYNTAXMESSAGES_H

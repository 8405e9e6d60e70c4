//===- UnknownOperation.h - messages about unknown operations ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser takes a word that it does not expect for the name of an
// operation. So most slips end in a message about an unknown operation.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_UNKNOWNOPERATION_H
#define HEDDLE_CODEGEN_COMPILER_UNKNOWNOPERATION_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle {

/// The message for operation `name`, which does not exist. The text of the
/// program before it is `before`; `after` begins with it.
std::string unknownOperation(llvm::StringRef name, llvm::StringRef before,
                             llvm::StringRef after, mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_UNKNOWNOPERATION_H

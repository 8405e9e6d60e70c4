//===- Register.h - every dialect a heddle program may use ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All tools use the same registration.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REGISTER_H
#define HEDDLE_DIALECT_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace heddle {
void registerAll(mlir::DialectRegistry &registry);
} // namespace heddle

#endif // HEDDLE_DIALECT_REGISTER_H

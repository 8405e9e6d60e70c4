//===- Compose.h - one program after another --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `clip_by_global_norm+adamw` means.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_COMPOSE_H
#define HEDDLE_DIALECT_LIBRARY_COMPOSE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::library {

/// The name of a result: that of the argument it replaces, or else that of the
/// value that is returned.
llvm::StringRef resultName(mlir::func::FuncOp function, unsigned result);

/// The program that runs `left`, then `right`, each a module of one function.
/// Results of `left` become those arguments of `right` that have their names,
/// and are no results any longer. Other arguments of one name are one argument.
/// The function is named after both. Emits an error at `loc` where names meet
/// and types or defaults do not.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
compose(mlir::ModuleOp left, mlir::ModuleOp right, mlir::Location loc);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_COMPOSE_H

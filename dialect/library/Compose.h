//===- Compose.h - one program after another --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The composition of programs, such as `clip_by_global_norm+adamw`.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_COMPOSE_H
#define HEDDLE_DIALECT_LIBRARY_COMPOSE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::library {

/// The name of a result: the name of the argument that it replaces, or else the
/// name of the returned value.
llvm::StringRef resultName(mlir::func::FuncOp function, unsigned result);

/// The result of this name, a float, makes the programs after it skip the step:
/// if it is not 0, they keep every argument that they would replace and that no
/// program before them has, such as parameters, state and step counters.
inline constexpr llvm::StringLiteral kFoundInf = "found_inf";

/// The program that runs `left`, then `right`, each a module of one function.
/// An argument of `right` with the name of a result of `left` takes this
/// result, which is then no result of the composition. If another program
/// follows (`isLast` is false), it is one, unless `right` replaces it: the next
/// program takes it, too. Other arguments with the same name become one
/// argument. The function is named after both. Emits an error at `loc` if names
/// are equal but types or defaults differ.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> compose(mlir::ModuleOp left,
                                                           mlir::ModuleOp right,
                                                           mlir::Location loc,
                                                           bool isLast = true);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_COMPOSE_H

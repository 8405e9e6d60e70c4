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

/// Lists with these names, or with these names and the suffix of a family. A
/// program that replaces parameters is an update.
inline constexpr llvm::StringLiteral kParam = "param", kGrad = "grad";

/// A use of gradients: some programs give them their true size, and others
/// limit it.
enum class GradientUse { other, sizes, limits };

/// A part of a composition: a module of one function. Errors, at `loc`, call it
/// `text`.
struct Part {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringRef text;
  mlir::Location loc;
  GradientUse use = GradientUse::other;
};

/// The program that runs the parts, one after another, in work that is linear
/// in their operations. The function is named after all of them.
///
/// An argument with the name of a result of an earlier part takes this result.
/// Other arguments with the same name become one argument. A result that a
/// later part replaces is no result of the composition. Neither is one that an
/// update takes: clipped gradients are not stored. An update is a part that
/// replaces parameters, the lists `param` or those of families, `param_bf16`.
///
/// Emits an error if arguments of one name have different types or defaults, or
/// if the order makes no sense: the lists of an update are its own, so no later
/// part can take them, gradients before an update have to reach a later part,
/// and gradients have their true size before a part limits it.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
compose(llvm::MutableArrayRef<Part> parts);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_COMPOSE_H

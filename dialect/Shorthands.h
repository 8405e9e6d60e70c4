//===- Shorthands.h - forms that only the text of programs has --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of programs replaces these forms, so that passes and the
// interpreter handle fewer cases:
//
//   a call of a private function of scalars in a body: its operations
//   a scalar operation on device scalars outside of bodies: a foreach.map
//   a foreach.while without a flag: one with a flag that always holds
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_SHORTHANDS_H
#define HEDDLE_DIALECT_SHORTHANDS_H

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The most operations that all calls of a module may stand for.
inline constexpr size_t kMaxInlined = 1 << 16;

/// Checks the places and operands of calls. MLIR's verifier, which need not
/// have run, does not know the places.
mlir::LogicalResult checkCalls(mlir::ModuleOp module);

/// Replaces the shorthands of `module` and erases the functions that bodies
/// call. Emits an error where a form cannot be replaced.
mlir::LogicalResult expandShorthands(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_DIALECT_SHORTHANDS_H

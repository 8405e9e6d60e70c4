//===- Foreach.h - the foreach dialect --------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computations over lists of tensors. See ForeachOps.td for the operations and
// ForeachDialect.td for the types.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FOREACH_H
#define HEDDLE_DIALECT_FOREACH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/ForeachDialect.h.inc"
#include "dialect/ForeachEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/ForeachTypes.h.inc"

namespace heddle::foreach {

/// Whether lists and device scalars may hold elements of `type`.
bool isElementType(mlir::Type type);

/// The element type in which a list or a device scalar is stored.
mlir::Type storageType(mlir::Type type);

/// The rank of a list's members; 0 for a device scalar.
int64_t rankOf(mlir::Type type);

inline bool isList(mlir::Type type) { return llvm::isa<ListType>(type); }

/// The type in which values stored as `type` are computed: f32 for f16 and
/// bf16, otherwise the type itself.
mlir::Type computeType(mlir::Type type);

/// A device scalar with elements of `type`.
mlir::RankedTensorType scalarOf(mlir::Type type);

/// Names of attributes on the arguments of the entry function.
inline constexpr llvm::StringLiteral kDonateAttr = "foreach.donate";
inline constexpr llvm::StringLiteral kDefaultAttr = "foreach.default";
inline constexpr llvm::StringLiteral kPositiveAttr = "foreach.positive";
inline constexpr llvm::StringLiteral kInitialAttr = "foreach.initial";

/// The result that replaces argument `argument` of a function, or -1.
int64_t donatedTo(mlir::FunctionOpInterface function, unsigned argument);
/// For each result of a function, the argument that it replaces, or -1.
llvm::SmallVector<int> replacedArguments(mlir::FunctionOpInterface function);

} // namespace heddle::foreach

#define GET_OP_CLASSES
#include "dialect/ForeachOps.h.inc"

namespace heddle::foreach {

/// Whether `op` has no operands, but a value that differs between members,
/// elements or iterations. A copy of `op` in another body has another value.
inline bool dependsOnBody(mlir::Operation *op) {
  return llvm::isa<IterationOp, ExtentOp, IndexOp>(op);
}

} // namespace heddle::foreach

#endif // HEDDLE_DIALECT_FOREACH_H

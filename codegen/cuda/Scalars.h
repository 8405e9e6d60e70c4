//===- Scalars.h - scalar operations as C++ expressions ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the operations of dialect/ScalarOps.def.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_SCALARS_H
#define HEDDLE_CODEGEN_CUDA_SCALARS_H

#include "codegen/cuda/Names.h"
#include "mlir/IR/Operation.h"

namespace heddle::cuda {

/// The C++ type in which values of `type` are computed.
llvm::StringRef computedType(mlir::Type type);

/// The C++ type in which elements of `type` are stored.
llvm::StringRef storedType(mlir::Type type);

/// An expression and how tightly its outermost operator binds.
struct Expression {
  std::string text;
  enum Binding { loosest, comparison, sum, product, unary, primary } binding;
};

/// The expression of a scalar operation, given those of its operands; empty if
/// the operation is not in the table.
std::optional<Expression>
printScalar(mlir::Operation *op,
            llvm::function_ref<Expression(mlir::Value)> operand);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_SCALARS_H

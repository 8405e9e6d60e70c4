//===- Scalars.h - scalar operations as LLVM IR -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers the operations of dialect/ScalarOps.def.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SCALARS_H
#define HEDDLE_CODEGEN_CPU_SCALARS_H

#include "codegen/cpu/Ir.h"
#include "mlir/IR/Operation.h"

namespace heddle::cpu {

/// The value of a scalar operation, given the values of its operands; null if
/// the operation is not in the table.
llvm::Value *emitScalar(Ir &ir, mlir::Operation *op,
                        llvm::function_ref<llvm::Value *(mlir::Value)> operand);

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SCALARS_H

//===- Precomputed.h - scalars precomputed for the next step ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the structure that holds the precomputed scalars of a member with
// their operands, and the function that computes the scalars.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_PRECOMPUTED_H
#define HEDDLE_CODEGEN_CUDA_PRECOMPUTED_H

#include "dialect/Fused.h"
#include "mlir/Support/IndentedOstream.h"

namespace heddle::cuda {

/// The fields of that structure after `valid`.
struct PrecomputedFields {
  explicit PrecomputedFields(fused::PrecomputeOp op);
  llvm::SmallVector<std::string> operands, results;
};

/// Prints the structure `type`, and `function`, which returns such a structure.
mlir::LogicalResult emitPrecomputed(mlir::raw_indented_ostream &os,
                                    fused::PrecomputeOp op,
                                    llvm::StringRef type,
                                    llvm::StringRef function);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_PRECOMPUTED_H

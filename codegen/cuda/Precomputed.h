//===- Precomputed.h - scalars kept from step to step -----------*- C++ -*-===//
//
// Prints the structure that holds the precomputed scalars of a member together
// with their operands, and the function that computes them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_PRECOMPUTED_H
#define HEDDLE_CODEGEN_CUDA_PRECOMPUTED_H

#include "dialect/Fused.h"
#include "mlir/Support/IndentedOstream.h"

namespace heddle::cuda {

/// The fields of that structure behind `valid`.
struct PrecomputedFields {
  explicit PrecomputedFields(fused::PrecomputeOp op);
  llvm::SmallVector<std::string> operands, results;
};

/// Prints the structure `type`, and `function`, which returns one.
mlir::LogicalResult emitPrecomputed(mlir::raw_indented_ostream &os,
                                    fused::PrecomputeOp op,
                                    llvm::StringRef type,
                                    llvm::StringRef function);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_PRECOMPUTED_H

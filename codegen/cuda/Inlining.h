//===- Inlining.h - values printed where they are used ----------*- C++ -*-===//
//
// Decides which values of a block are printed as part of the expression that
// uses them instead of as variables.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_INLINING_H
#define HEDDLE_CODEGEN_CUDA_INLINING_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::cuda {

/// The operations of `block` whose result is part of the expression of its
/// single user: those that the program does not name, or names as their user
/// (the conversion of a value has its name), as long as a line holds the
/// expression. Names do not count: two programs that differ in names alone have
/// the same lines.
llvm::DenseSet<mlir::Operation *> inlinedOps(mlir::Block &block);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_INLINING_H

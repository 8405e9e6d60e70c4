//===- Inlining.h - values printed where they are used ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// The operations of `block` that are printed as part of the expression of
/// their single user. Either the program does not name the result, or the user
/// has the same name (a conversion has the name of the converted value); and
/// the expression fits on a line. The lengths of names do not count, so two
/// programs that differ only in names have the same lines.
llvm::DenseSet<mlir::Operation *> inlinedOps(mlir::Block &block);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_INLINING_H

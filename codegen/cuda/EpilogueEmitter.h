//===- EpilogueEmitter.h - values of the whole list -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the function that computes a sweep's values of the whole list.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_EPILOGUEEMITTER_H
#define HEDDLE_CODEGEN_CUDA_EPILOGUEEMITTER_H

#include "codegen/cuda/SweepEmitter.h"

namespace heddle::cuda {

class EpilogueEmitter {
public:
  EpilogueEmitter(mlir::raw_indented_ostream &os, fused::SweepOp sweep,
                  const SweepLayout &layout, const SweepNames &names,
                  int64_t threads)
      : os(os), sweep(sweep), layout(layout), names(names), threads(threads) {}

  mlir::LogicalResult emit();

private:
  Expression expression(mlir::Value value);
  mlir::LogicalResult declareOps(mlir::Block &block);
  void declareReduction(fused::ReduceOp op, unsigned segment);
  /// The state of a reduction over the tiles of a segment, or over its members.
  std::string overTiles(fused::ReduceOp op, unsigned segment);
  std::string overMembers(fused::ReduceOp op, unsigned segment);
  void bindScalar(mlir::Value argument, int slot);
  void storeScalar(int slot, mlir::Value value);

  mlir::raw_indented_ostream &os;
  fused::SweepOp sweep;
  const SweepLayout &layout;
  const SweepNames &names;
  int64_t threads; ///< of the block that ends the list
  Scope scope;
  llvm::DenseSet<mlir::Operation *> inlined;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_EPILOGUEEMITTER_H

//===- StreamEmitter.h - the stream schedule --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of sweeps without row and column values.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_STREAMEMITTER_H
#define HEDDLE_CODEGEN_CUDA_STREAMEMITTER_H

#include "codegen/cuda/SweepEmitter.h"

namespace heddle::cuda {

/// Prints a tile of consecutive elements, of which each thread takes a few at a
/// time.
class StreamEmitter : public SegmentEmitter {
public:
  using SegmentEmitter::SegmentEmitter;

private:
  mlir::LogicalResult emitWalk() override;
  std::string vectorCondition() override;
  llvm::StringRef vectorFlag() const override {
    return repeats() > 1 ? "aligned" : "whole";
  }
  /// `heddle::load<256, EvictFirst>` or, in a round, `heddle::load_round<256>`.
  std::string access(llvm::StringRef function, bool evictFirst) const;
  /// The arguments of an access to operand slot `slot`.
  std::string accessArguments(int slot, llvm::StringRef array) const;
  bool isReduced(fused::ReduceOp op) const;
  bool reducesElements() const;
  bool writesElements() const;
  void loadElements(bool allRounds);
  mlir::LogicalResult emitRound(bool allRounds);
  mlir::LogicalResult emitElement(llvm::StringRef index);
  void storeElements();
  mlir::LogicalResult emitElementByElement();
  std::optional<Expression> printOp(mlir::Operation *op) override;
  mlir::LogicalResult emitRounds();
  void combineElements(bool allRounds);
  /// Chooses the variables that hold the results, and the values that are
  /// assigned to them directly: arrays, with the element at `index`, or without
  /// `index` the variables of one element.
  void assignOutputs(llvm::StringRef index);
  unsigned lastReadOf(mlir::BlockArgument argument) const;
  unsigned positionOf(mlir::Operation *op) const;

  /// The number of rounds of `threads * vector` elements in a tile.
  int64_t repeats() const {
    return slots.tile / (layout.threads * slots.vector);
  }
  /// The variable that counts inexact results, while elements are printed
  /// without branches.
  std::string branchless;
  /// The array of each result, "" without one, and whether the result is
  /// assigned where it is computed.
  llvm::SmallVector<std::string> outputs;
  llvm::SmallVector<bool> isAssigned;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_STREAMEMITTER_H

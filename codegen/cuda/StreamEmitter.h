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

/// Elements are held in the compute type of their storage and widened where
/// they are used: a sum in double of floats holds floats.
inline mlir::Type heldType(const OperandSlot &slot) {
  return foreach::computeType(slot.storage);
}

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
  /// Whether a thread holds the elements of `slot` as they are stored, two in a
  /// word.
  bool isPacked(const OperandSlot &slot) const;
  /// The declaration of the elements of `slot` that a thread holds.
  std::string elements(const OperandSlot &slot, const std::string &name) const;
  /// The elements that a thread holds at a time: those of a round, of a whole
  /// tile, or of a tile that may have fewer elements.
  enum class Held { round, tile, part };
  bool isReduced(fused::ReduceOp op) const;
  bool reducesElements() const;
  bool writesElements() const;
  void loadElements(Held held);
  mlir::LogicalResult emitElements(Held held);
  mlir::LogicalResult emitRound(Held held);
  mlir::LogicalResult emitElement(llvm::StringRef index);
  mlir::LogicalResult emitMappedRound();
  mlir::LogicalResult emitMappedRounds();
  mlir::LogicalResult emitReducedRounds();
  void declareElements(Held held);
  void storeElements();
  void combineElements(Held held);
  mlir::LogicalResult emitAllRounds(Held held);
  /// Chooses the variables that hold the results, and the values that are
  /// assigned to them directly: arrays, with the element at `index`, or without
  /// `index` the variables of one element. Prints declarations if `declare`.
  void assignOutputs(llvm::StringRef index, bool declare = true);
  /// The random numbers that a thread draws for its elements
  /// (StreamRandom.cpp).
  llvm::SmallVector<foreach::RandomOp> drawnNumbers() const;
  void drawNumbers();
  std::string numberAt(foreach::RandomOp op, llvm::StringRef at);
  bool isElementArgument(mlir::BlockArgument argument) const {
    return levels.of(argument).level == fused::Level::element &&
           !argument.use_empty();
  }
  unsigned lastReadOf(mlir::BlockArgument argument) const;
  unsigned positionOf(mlir::Operation *op) const;

  /// The number of rounds of `threads * vector` elements in a tile.
  int64_t repeats() const {
    return slots.tile / (layout.threads * slots.vector);
  }
  /// The array of each result, "" without one, and whether the result is
  /// assigned where it is computed.
  llvm::SmallVector<std::string> outputs;
  llvm::SmallVector<bool> isAssigned;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;

  // StreamBranchless.cpp
  std::optional<Expression> printOp(mlir::Operation *op) override;
  Expression positionAlong(foreach::Axis axis) const override;
  bool isDividedRoot(mlir::Value value) const;
  bool isInQuotient(mlir::Operation *op) const;
  mlir::LogicalResult emitElementFunction() override;
  void declareScalarParameters(
      llvm::SmallVectorImpl<DeviceFunctions::Parameter> &parameters);
  void declareDivisors();
  void emitBranchlessRound();
  void emitElementByElement();
  void emitCall(const std::string &object, llvm::StringRef at);

  /// Whether divisions and square roots of elements are branchless, and the
  /// object that has their forms, while they are printed.
  bool isBranchless = false;
  std::string math;
  /// The scalars that the function takes, with the names of its parameters.
  llvm::SmallVector<std::pair<mlir::Value, std::string>> scalars;
  /// The random numbers that the function takes, in the same way.
  llvm::SmallVector<std::pair<foreach::RandomOp, std::string>> numbers;
  /// The divisors of roots, and the condition that they are in range.
  llvm::DenseMap<mlir::Value, std::string> divisors;
  std::string inRange;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_STREAMEMITTER_H

//===- SweepExtension.h - a sweep with more operands and results *- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body is not copied: it moves to the new sweep.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SWEEPEXTENSION_H
#define HEDDLE_PASSES_SWEEPEXTENSION_H

#include "dialect/Fused.h"
#include "mlir/IR/Builders.h"

namespace heddle::fused {

/// Adds operands and results to a sweep of one segment.
class SweepExtension {
public:
  explicit SweepExtension(SweepOp sweep) : sweep(sweep) {}

  /// Binds `operand` at `index` and returns its value in the body.
  mlir::Value bind(mlir::Value operand, int32_t index, mlir::Type bound);
  /// Yields `value` of the body as a further result of `type`; returns its
  /// position among the results.
  unsigned addResult(mlir::Value value, mlir::Type type, llvm::StringRef name);

  /// Yields, in the epilogue, the value that an operand of the epilogue has
  /// before the sweep; returns its position among the results. To be called
  /// after `addResult`.
  unsigned addOld(mlir::Value operand);

  /// Replaces the sweep by one with these operands and results, and without
  /// operands that it does not use. `replaced`
  /// is called with each result and the one that takes its place.
  SweepOp build(llvm::function_ref<void(mlir::Value, mlir::Value)> replaced);

private:
  struct Result {
    mlir::Value value;
    mlir::Type type;
    std::string name;
  };
  SweepOp sweep;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<int32_t> indices;
  llvm::SmallVector<Result> results, epilogueResults;
  llvm::DenseMap<std::tuple<mlir::Value, int32_t, mlir::Type>, mlir::Value>
      arguments;
};

/// The value of an operand in the epilogue of a sweep; null if the epilogue
/// does not have this operand.
mlir::Value inEpilogue(SweepOp sweep, mlir::Value operand);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_SWEEPEXTENSION_H

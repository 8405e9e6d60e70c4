//===- SweepBuilder.h - assembles sweeps from parts -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outlining and both fusions build sweeps from parts of other sweeps. The
// builder binds every operand once, with a conversion if two parts bind it as
// different types. It keeps the arguments of the epilogue consistent with the
// list values.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SWEEPBUILDER_H
#define HEDDLE_PASSES_SWEEPBUILDER_H

#include "dialect/Fused.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace heddle::fused {

class SweepBuilder {
public:
  SweepBuilder(mlir::MLIRContext *context, mlir::Value where = {});

  /// Adds a segment without operands and results and returns its number.
  unsigned addSegment();
  unsigned getNumSegments() const { return segments.size(); }

  /// A builder at the end of a segment's body, or of the epilogue.
  mlir::OpBuilder at(unsigned segment);
  mlir::OpBuilder atEpilogue();

  /// Binds `operand` to `segment` and returns its value in the body.
  mlir::Value bind(unsigned segment, mlir::Value operand, int32_t index,
                   mlir::Type bound, llvm::StringRef name);
  /// Yields `value` from `segment` as a result of `type` and returns the number
  /// of the result in the segment.
  unsigned addResult(unsigned segment, mlir::Value value, mlir::Type type,
                     llvm::StringRef name);
  /// Binds a device scalar to the epilogue and returns its value there.
  mlir::Value bindEpilogue(mlir::Value operand, mlir::Type bound,
                           llvm::StringRef name);
  /// The value in the epilogue of the list value that `segment` yields as
  /// result `result`.
  mlir::Value listValue(unsigned segment, unsigned result, mlir::Type bound,
                        llvm::StringRef name);
  unsigned addEpilogueResult(mlir::Value value, mlir::Type type,
                             llvm::StringRef name);

  /// A result of the sweep that is being built.
  struct ResultRef {
    /// Segment, or -1 for the epilogue.
    int segment;
    unsigned result;
  };
  using Bound = llvm::function_ref<mlir::Value(mlir::Value, mlir::Type)>;
  /// Copies all of `sweep` as further segments and further parts of the
  /// epilogue. Returns the copies of its results. An input for which `bound`
  /// returns a value is not bound again.
  llvm::SmallVector<ResultRef> append(SweepOp sweep, Bound bound = nullptr);
  /// Copies the epilogue of `sweep`. `refs` has the copies of its segments'
  /// results; those of the epilogue are appended.
  void appendEpilogue(SweepOp sweep, llvm::SmallVectorImpl<ResultRef> &refs,
                      Bound bound = nullptr);
  /// The value that is yielded as `ref`.
  mlir::Value yielded(ResultRef ref) const;

  /// Omits an unused result.
  void drop(ResultRef ref);

  /// Creates the sweep without unused operands, except for those that alone
  /// span the domain.
  SweepOp build(mlir::OpBuilder &builder, mlir::Location loc);
  /// The result `ref` of the sweep that `build` created; null if it was
  /// dropped.
  mlir::Value result(ResultRef ref) const;

private:
  struct Result {
    mlir::Value value;
    mlir::Type type;
    std::string name;
    bool dropped = false;
    int position = -1;
  };
  struct Segment {
    std::unique_ptr<mlir::Region> region;
    llvm::SmallVector<mlir::Value> inputs;
    llvm::SmallVector<int32_t> indices;
    llvm::SmallVector<Result> results;
    /// The positions of operands among the inputs, by index.
    llvm::DenseMap<std::pair<mlir::Value, int32_t>, unsigned> positions;
  };
  llvm::SmallVector<Result> &resultsOf(ResultRef ref) {
    return ref.segment < 0 ? epilogueResults : segments[ref.segment].results;
  }
  unsigned addResult(ResultRef ref, mlir::Value value, mlir::Type type,
                     llvm::StringRef name);
  void dropUnusedInputs(Segment &segment);
  void fillEpilogue(SweepOp sweep, mlir::Location loc,
                    llvm::ArrayRef<mlir::BlockArgument> scalars);
  mlir::BlockArgument share(mlir::Block &block, mlir::BlockArgument argument,
                            mlir::Type storage, mlir::Type bound);

  mlir::MLIRContext *context;
  mlir::Value where;
  llvm::SmallVector<Segment> segments;
  mlir::Region epilogue;
  llvm::MapVector<mlir::Value, mlir::BlockArgument> epilogueInputs;
  llvm::MapVector<std::pair<unsigned, unsigned>, mlir::BlockArgument>
      listValues;
  llvm::SmallVector<Result> epilogueResults;
  /// The results that are arguments.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ResultRef, 1>> yieldedArguments;
  mlir::Operation *built = nullptr;
};

/// The operands of a segment that it can omit: unused ones, unless they alone
/// span the domain.
llvm::BitVector unusedInputs(mlir::ValueRange inputs,
                             llvm::ArrayRef<int32_t> indices,
                             llvm::function_ref<bool(unsigned)> isUsed);

/// Replaces `sweep` by a sweep without unused results and operands.
SweepOp dropUnused(SweepOp sweep);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_SWEEPBUILDER_H

//===- SweepBuilder.h - assembles sweeps from parts -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outlining and both fusions make sweeps out of pieces of others. The builder
// binds every operand once, with a conversion where two pieces bound it as
// different types, and keeps `finish` in step with the list values.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_SWEEPBUILDER_H
#define HEDDLE_PASSES_SWEEPBUILDER_H

#include "dialect/Fused.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace heddle::fused {

class SweepBuilder {
public:
  SweepBuilder(mlir::MLIRContext *context, mlir::Value where = {});

  /// Adds a segment without operands and results; returns its number.
  unsigned addSegment();
  unsigned getNumSegments() const { return segments.size(); }

  /// A builder at the end of a segment's body, or of `finish`.
  mlir::OpBuilder at(unsigned segment);
  mlir::OpBuilder atFinish();

  /// The value in the body of `segment` that `operand` is bound to.
  mlir::Value bind(unsigned segment, mlir::Value operand, int32_t index,
                   mlir::Type bound, llvm::StringRef name);
  /// Yields `value` from `segment` as a result of `type`; returns its number
  /// within the segment.
  unsigned addResult(unsigned segment, mlir::Value value, mlir::Type type,
                     llvm::StringRef name);
  /// A scalar bound to `finish`.
  mlir::Value bindFinish(mlir::Value operand, mlir::Type bound,
                         llvm::StringRef name);
  /// The list value that `segment` yields as its result `result`, in `finish`.
  mlir::Value listValue(unsigned segment, unsigned result, mlir::Type bound,
                        llvm::StringRef name);
  unsigned addFinishResult(mlir::Value value, mlir::Type type,
                           llvm::StringRef name);

  /// Copies all of `sweep` as further segments and further parts of `finish`.
  /// `results` receives, for each of its results, where it went.
  struct Place {
    /// Segment, or -1 for `finish`.
    int segment;
    unsigned result;
  };
  llvm::SmallVector<Place> append(SweepOp sweep);
  /// Copies `finish` of `sweep`, whose segments were copied to `places`. Inputs
  /// for which `bound` returns a value are not bound anew.
  void appendFinish(
      SweepOp sweep, llvm::SmallVectorImpl<Place> &places,
      llvm::function_ref<mlir::Value(mlir::Value, mlir::Type)> bound = nullptr);
  /// The value that was yielded at `place`, and its result's type.
  mlir::Value yielded(Place place) const;
  mlir::Type resultType(Place place) const;

  /// Leaves out a result that nobody needs.
  void drop(Place place);

  /// Makes the sweep. Operands that nothing uses are left out unless the domain
  /// is named by them alone.
  SweepOp build(mlir::OpBuilder &builder, mlir::Location loc);
  /// The result of the sweep built last that stands for `place`.
  mlir::Value result(Place place) const;

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
  };
  void dropUnusedInputs(Segment &segment);
  mlir::BlockArgument share(mlir::Block &block, mlir::BlockArgument argument,
                            mlir::Type storage, mlir::Type bound);

  mlir::MLIRContext *context;
  mlir::Value where;
  llvm::SmallVector<Segment> segments;
  mlir::Region finish;
  llvm::MapVector<mlir::Value, mlir::BlockArgument> finishInputs;
  llvm::MapVector<std::pair<unsigned, unsigned>, mlir::BlockArgument>
      listValues;
  llvm::SmallVector<Result> finishResults;
  mlir::Operation *built = nullptr;
};

/// Replaces `sweep` by one that has only the results that are used and only
/// the operands that its bodies use.
SweepOp dropUnused(SweepOp sweep);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_SWEEPBUILDER_H

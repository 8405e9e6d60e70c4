//===- SweepBuilder.h - assembles sweeps from parts -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outlining and both fusions make sweeps from parts of others. The builder
// binds every operand once, with a conversion if two parts bind it as different
// types, and keeps the arguments of the epilogue consistent with the list
// values.
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

  /// A builder at the end of a segment's body, or of the epilogue.
  mlir::OpBuilder at(unsigned segment);
  mlir::OpBuilder atEpilogue();

  /// The value to which `operand` is bound in the body of `segment`.
  mlir::Value bind(unsigned segment, mlir::Value operand, int32_t index,
                   mlir::Type bound, llvm::StringRef name);
  /// Yields `value` from `segment` as a result of `type`; returns its number
  /// within the segment.
  unsigned addResult(unsigned segment, mlir::Value value, mlir::Type type,
                     llvm::StringRef name);
  /// A scalar bound to the epilogue.
  mlir::Value bindEpilogue(mlir::Value operand, mlir::Type bound,
                           llvm::StringRef name);
  /// The list value that `segment` yields as its result `result`, in the
  /// epilogue.
  mlir::Value listValue(unsigned segment, unsigned result, mlir::Type bound,
                        llvm::StringRef name);
  unsigned addEpilogueResult(mlir::Value value, mlir::Type type,
                             llvm::StringRef name);

  /// Copies all of `sweep` as further segments and further parts of the
  /// epilogue, and returns the places of its results.
  struct Place {
    /// Segment, or -1 for the epilogue.
    int segment;
    unsigned result;
  };
  using Bound = llvm::function_ref<mlir::Value(mlir::Value, mlir::Type)>;
  llvm::SmallVector<Place> append(SweepOp sweep, Bound bound = nullptr);
  /// Copies the epilogue of `sweep`, whose segments were copied to `places`.
  /// Inputs for which `bound` returns a value are not bound again.
  void appendEpilogue(SweepOp sweep, llvm::SmallVectorImpl<Place> &places,
                      Bound bound = nullptr);
  /// The value that was yielded at `place`, and its result's type.
  mlir::Value yielded(Place place) const;
  mlir::Type resultType(Place place) const;

  /// Omits an unused result.
  void drop(Place place);

  /// Creates the sweep. Unused operands are omitted, unless only they give the
  /// domain.
  SweepOp build(mlir::OpBuilder &builder, mlir::Location loc);
  /// The result of the last sweep that corresponds to `place`.
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
    /// The positions of operands among the inputs, by index.
    llvm::DenseMap<std::pair<mlir::Value, int32_t>, unsigned> positions;
  };
  llvm::SmallVector<Result> &resultsOf(Place place) {
    return place.segment < 0 ? epilogueResults : segments[place.segment].results;
  }
  unsigned addResult(Place place, mlir::Value value, mlir::Type type,
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
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Place, 1>> yieldedArguments;
  mlir::Operation *built = nullptr;
};

/// Replaces `sweep` by one without unused results and operands.
SweepOp dropUnused(SweepOp sweep);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_SWEEPBUILDER_H

//===- Segment.h - analysis of a segment of a sweep -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the properties of a segment that the emitter needs: the values that are
// used, the level and phase of each, the reductions, and the buffers of the
// results.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SEGMENT_H
#define HEDDLE_CODEGEN_CPU_SEGMENT_H

#include "codegen/layout/SweepLayout.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::cpu {

/// A reduction whose result is used.
struct SegmentReduction {
  fused::ReduceOp op;
  fused::Level from; // the level of the values that it combines
  fused::Level to;
  bool ofCompleteColumns; // Levels::reducesCompleteColumns
};

/// A value that the segment yields: one for each element, row, column or
/// member, or one for the whole list.
struct SegmentResult {
  mlir::Value value;
  mlir::Type storage;
  fused::Level at;
  int slot; // SegmentLayout::results
  bool isStored() const { return slot != SegmentLayout::kNowhere; }
};

class Segment {
public:
  /// Emits a diagnostic if the cpu target does not support the segment.
  static mlir::FailureOr<Segment> analyse(fused::SweepOp sweep, unsigned number,
                                          const SweepLayout &layout);

  using Values = llvm::DenseSet<mlir::Value>;
  using Within = llvm::function_ref<bool(fused::Level)>;

  fused::Level levelOf(mlir::Value value) const {
    return levels.of(value).level;
  }
  /// Whether a value is complete only after the columns are.
  bool isAfterColumns(mlir::Value value) const {
    return levels.of(value).afterColumns;
  }
  /// The number of traversals of the row after which a value is complete.
  int phaseOf(mlir::Value value) const { return phases.lookup(value); }

  /// The values of levels `within` from which `roots` are computed, including
  /// `roots`; the search stops at reductions.
  Values needed(llvm::ArrayRef<mlir::Value> roots, Within within) const;

  mlir::Block &body() const { return *block; }
  llvm::SmallVector<SegmentReduction> reductions;
  llvm::SmallVector<SegmentResult> results;
  unsigned number = 0;

private:
  explicit Segment(fused::Levels levels) : levels(std::move(levels)) {}
  void findReductions();
  void findPhases();
  mlir::LogicalResult verify(fused::SweepOp sweep) const;

  mlir::Block *block = nullptr;
  fused::Levels levels;
  llvm::DenseMap<mlir::Value, int> phases;
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SEGMENT_H

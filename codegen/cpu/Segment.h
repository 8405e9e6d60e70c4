//===- Segment.h - what of a segment is computed where ----------*- C++ -*-===//
//
// The body of a segment as the emitter sees it: which values somebody reads,
// the level and phase of each, its reductions, and where its results go.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SEGMENT_H
#define HEDDLE_CODEGEN_CPU_SEGMENT_H

#include "codegen/SweepLayout.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::cpu {

/// A reduction that somebody reads.
struct SegmentReduction {
  fused::ReduceOp op;
  fused::Level from; // one value for each of these is combined
  fused::Level to;
};

/// A value that the segment yields: one for each element, row, column or member
/// or for the whole list.
struct SegmentResult {
  mlir::Value value;
  mlir::Type storage;
  fused::Level at;
  int slot; // SegmentLayout::results
  bool isStored() const { return slot != SegmentLayout::kNowhere; }
};

class Segment {
public:
  /// Emits a diagnostic where the segment is none that the cpu target takes.
  static mlir::FailureOr<Segment> analyse(fused::SweepOp sweep, unsigned number,
                                          const SweepLayout &layout);

  using Values = llvm::DenseSet<mlir::Value>;
  using Within = llvm::function_ref<bool(fused::Level)>;

  fused::Level levelOf(mlir::Value value) const {
    return levels.of(value).level;
  }
  bool isAfter(mlir::Value value) const { return levels.isAfter(value); }
  /// In how many walks along its row a value is complete.
  int phaseOf(mlir::Value value) const { return phases.lookup(value); }

  /// What `roots` are computed from, themselves included, in so far as it is of
  /// the levels `within`; no further than the results of reductions.
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

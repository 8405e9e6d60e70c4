//===- FusedLevels.h - what each value of a sweep is one of -----*- C++ -*-===//
//
// Levels are inferred, never written: element, row, column, member or list, and
// whether a value is complete only after the sweep.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSEDLEVELS_H
#define HEDDLE_DIALECT_FUSEDLEVELS_H

#include "dialect/Fused.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::fused {

struct LevelOf {
  Level level;
  /// Complete only when the whole member (or list) was visited.
  bool after;
  bool operator==(const LevelOf &) const = default;
};

/// The smallest level at which values of levels `a` and `b` meet: a row and a
/// column meet in an element.
Level join(Level a, Level b);

/// The levels of the values in one segment of a sweep.
class Levels {
public:
  /// Infers the levels of segment `segment`; emits an error where a value is
  /// used that is complete only after the sweep.
  static mlir::FailureOr<Levels> infer(SweepOp sweep, unsigned segment);

  LevelOf of(mlir::Value value) const { return levels.lookup(value); }
  bool isAfter(mlir::Value value) const { return of(value).after; }
  /// The level of which `reduce` combines one value each.
  Level countedBy(ReduceOp reduce) const;

private:
  llvm::DenseMap<mlir::Value, LevelOf> levels;
};

/// `roots`, and all that they are computed from.
llvm::DenseSet<mlir::Value> behind(llvm::ArrayRef<mlir::Value> roots);

/// The values that segment `segment` writes element by element.
llvm::SmallVector<mlir::Value> elementResults(SweepOp sweep, unsigned segment);

/// Writes down `from` at every reduction of `sweep`, so that it counts the same
/// whatever its operand is made from.
void spellOutFrom(SweepOp sweep);

/// Leaves `from` only where a value of a lower level counts more than once.
void dropImpliedFrom(SweepOp sweep);

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_FUSEDLEVELS_H

//===- FusedLevels.h - the loop axes that values vary over ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A level is element, row, column, member or list. The IR does not contain
// levels: they are inferred, as is whether a value is complete only after the
// sweep.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSEDLEVELS_H
#define HEDDLE_DIALECT_FUSEDLEVELS_H

#include "dialect/Fused.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::fused {

struct LevelOf {
  Level level;
  /// Whether the value is complete only after the sweep.
  bool after;
  /// Whether the value of a member or list is complete only after the columns
  /// are: it depends on a reduction of column values that are complete after
  /// the sweep.
  bool afterColumns = false;
  bool operator==(const LevelOf &) const = default;
};

/// The smallest level of a value that is computed from values of levels `a` and
/// `b`: a row value and a column value give an element value.
Level join(Level a, Level b);

/// The level of an argument that is bound to a list or scalar of type `type` at
/// `index`, in a domain of rank `rank`.
Level levelOfArgument(mlir::Type type, int32_t index, int64_t rank);

/// The level of the results of `op`, whose operands have the levels that `of`
/// gives. `op` is in a segment with a domain of rank `rank`; if it is a
/// reduction, `from` replaces its attribute. Emits an error where a value is
/// used that is complete only after the sweep.
mlir::FailureOr<LevelOf>
levelOfResults(mlir::Operation &op, int64_t rank,
               llvm::function_ref<LevelOf(mlir::Value)> of,
               std::optional<Level> from);

/// The level of an extent or position in a domain of rank `rank`; nothing for
/// other operations.
std::optional<Level> levelOfPosition(mlir::Operation &op, int64_t rank);

/// Checks that result `position` of `sweep` can hold `value`, which has the
/// level `of` in a domain of rank `rank`.
mlir::LogicalResult verifyResult(SweepOp sweep, unsigned position,
                                 mlir::Value value, LevelOf of, int64_t rank);

/// The levels of the values in one segment of a sweep.
class Levels {
public:
  /// Infers the levels of segment `segment`. Emits an error where an operation
  /// cannot use a value because it is complete only after the sweep.
  static mlir::FailureOr<Levels> infer(SweepOp sweep, unsigned segment);

  LevelOf of(mlir::Value value) const { return levels.lookup(value); }
  bool isAfter(mlir::Value value) const { return of(value).after; }
  /// The level whose values `reduce` combines.
  Level countedBy(ReduceOp reduce) const;
  /// Whether `reduce` combines column values that are complete only after the
  /// sweep.
  bool reducesCompleteColumns(ReduceOp reduce) const {
    return reduce.getLevel() == Level::member && isAfter(reduce.getValue()) &&
           countedBy(reduce) == Level::column;
  }

private:
  llvm::DenseMap<mlir::Value, LevelOf> levels;
};

/// `roots`, and all values from which they are computed.
llvm::DenseSet<mlir::Value> backwardSlice(llvm::ArrayRef<mlir::Value> roots);

/// The element values that segment `segment` yields.
llvm::SmallVector<mlir::Value> elementResults(SweepOp sweep, unsigned segment);

/// Whether segment `segment` reduces elements over members or the list, and not
/// over rows first.
bool reducesElementsOverMembers(SweepOp sweep, unsigned segment);

/// Whether segment `segment` combines the values of each column.
bool reducesOverColumns(SweepOp sweep, unsigned segment);

/// Whether a launch of its own can end the members of a sweep: a `stream`
/// sweep, or a sweep over rows that reduces elements over members and nothing
/// over columns, so that no block combines tiles, divides rows or shares them.
/// The sweep visits all members and is not in a loop.
bool mayEndInOwnLaunch(SweepOp sweep);

/// The sizes in bytes of the elements that segment `segment` reads and writes,
/// as they are stored.
struct ElementSizes {
  llvm::SmallVector<int64_t> read, written;

  llvm::SmallVector<int64_t> all() const;
  int64_t smallest() const;
  int64_t largest() const;
};
ElementSizes elementSizes(SweepOp sweep, unsigned segment);

/// Sets `from` at every reduction of `sweep`, so that the reduction keeps its
/// meaning when its operand is replaced.
void spellOutFrom(SweepOp sweep);

/// Removes `from` wherever the level of the operand implies it.
void dropImpliedFrom(SweepOp sweep);

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_FUSEDLEVELS_H

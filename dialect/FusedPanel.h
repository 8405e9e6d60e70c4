//===- FusedPanel.h - a sweep that keeps its columns on chip ----*- C++ -*-===//
//
// A block that holds a panel of rows passes over each row twice: the first pass
// reduces the row, the second, while the row is still on chip, adds what
// follows to the columns. Which operation belongs to which pass, and why a
// sweep cannot be walked that way, is decided here, for passes and code
// generators alike.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSEDPANEL_H
#define HEDDLE_DIALECT_FUSEDPANEL_H

#include "dialect/FusedLevels.h"
#include "llvm/ADT/SetVector.h"

namespace heddle::fused {

/// The passes of the one segment of a sweep in a loop.
struct Panel {
  /// Reductions of rows, of columns, and over the member (of values of rows, or
  /// of those that columns have before the sweep), in order.
  llvm::SmallVector<ReduceOp> rows, columns, members;
  /// Values that depend on a reduction of their row.
  llvm::DenseSet<mlir::Value> second;
  /// Element values of the first pass that the second uses, less the
  /// exponentials that columns share with rows.
  llvm::SetVector<mlir::Value> kept;
  /// Row reductions whose exponentials columns share.
  llvm::SetVector<mlir::Operation *> shared;
  /// Of each log-sum-exp of columns, the row reduction about a guess that its
  /// exponents follow from: what a row adds to the column is known when that
  /// is. Null where there is none.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> awaited;

  /// The passes of `sweep`, the only one in the body of a loop whose members
  /// stop on their own; nothing, and in `why` the reason, where a sweep is not
  /// made of two passes.
  static std::optional<Panel> of(SweepOp sweep, std::string &why);

  bool isSecond(mlir::Value value) const { return second.contains(value); }
  /// Whether `column` sums exponentials up as they are: those of a row, or its
  /// own about a guess.
  static bool sumsPowers(ReduceOp column) {
    return column.getSharing() || column.getAbout();
  }
  static bool takesOwnPowers(ReduceOp column) {
    return column.getAbout() && !column.getSharing();
  }
};

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_FUSEDPANEL_H

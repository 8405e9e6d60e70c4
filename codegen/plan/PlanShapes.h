//===- PlanShapes.h - extents and launches for given shapes -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan has no extents. From one shape per member, PlanShapes computes the
// extents of every list and the numbers of tiles and launches of a step.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_PLAN_PLANSHAPES_H
#define HEDDLE_CODEGEN_PLAN_PLANSHAPES_H

#include "runtime/plan/PanelClass.h"
#include "runtime/plan/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle {

/// The extents of one tensor or one member of a list, one per dimension.
using Extents = llvm::SmallVector<int64_t, 4>;

/// The number of elements of these extents, at most INT64_MAX.
int64_t elementCount(llvm::ArrayRef<int64_t> extents);
/// The sum of two counts, at most INT64_MAX.
int64_t addCounts(int64_t a, int64_t b);

/// Reads an array of shapes; `where` is the prefix of error messages.
llvm::Expected<std::vector<Extents>>
shapesFromJSON(const llvm::json::Value &value, llvm::StringRef where);

/// The extents of every member of every list of a plan.
class PlanShapes {
public:
  /// Gives every list argument one member per shape. For a list of rank 2, the
  /// leading dimensions are collapsed into rows. For a list of rank 1, all
  /// dimensions are collapsed, unless its extent must equal the rows or columns
  /// of a list of rank 2. `equal` has dimensions that are equal although no
  /// kernel demands it. `given` has, for each buffer, the extents of its
  /// members if they are known; other lists follow them.
  using EqualPair = std::pair<runtime::ExtentRef, runtime::ExtentRef>;
  static PlanShapes bind(const runtime::Plan &plan,
                         llvm::ArrayRef<Extents> shapes,
                         llvm::ArrayRef<EqualPair> equal = {},
                         llvm::ArrayRef<std::vector<Extents>> given = {});

  /// The extents of the members of a buffer; empty for a scalar.
  llvm::ArrayRef<Extents> of(int buffer) const { return buffers[buffer]; }
  /// The number of elements of all members, at most INT64_MAX.
  int64_t elementsOf(int buffer) const;
  int64_t tilesOf(int table) const;
  /// The number of elements of all members of a table of rank 1.
  int64_t elementsOfTable(int table) const;
  /// The number of member descriptors.
  int64_t membersOf(int table) const;
  /// The number of blocks that divide the rows of a tile; 1 if none do.
  int64_t blocksPerTile(int table) const;
  /// The most columns of a member of a table of matrices.
  int64_t widestOf(int table) const { return widthsOf(table).second; }
  /// Whether all rows of such a table have several parts, and short ones.
  bool haveShortParts(int table) const;
  /// Whether a block may have several of them.
  bool hasSeveralParts(int table) const {
    return plan.tables[table].severalParts;
  }
  /// Whether at least half of the elements of its members are in rows of more
  /// columns.
  bool areMostlyOver(int table, int64_t columns) const;
  /// As if all matrices were aligned.
  bool areMostlyVectorsOf(int table, int64_t elements) const;
  /// The number of kernels, copies and fills of one step, with one iteration of
  /// each loop.
  int64_t launches() const;

private:
  /// The extents of the members of a table of rank 2, those of held rows
  /// included if `alsoHeld`.
  std::vector<runtime::PanelExtents> extentsOf(int table, bool alsoHeld) const;
  std::pair<int64_t, int64_t> widthsOf(int table) const;
  explicit PlanShapes(const runtime::Plan &plan) : plan(plan) {}
  /// Passes the columns and the number of tiles of each member to `add`.
  void overMembers(
      int table,
      llvm::function_ref<void(int64_t columns, int64_t tiles)> add) const;
  int64_t launches(const runtime::PlanGraph &graph) const;

  const runtime::Plan &plan;
  std::vector<std::vector<Extents>> buffers;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_PLAN_PLANSHAPES_H

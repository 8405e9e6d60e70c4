//===- PlanShapes.h - a plan over given shapes ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan holds no extents. From one shape for each member this says what every
// list of the program is like, and how many tiles and launches a step has.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_PLANSHAPES_H
#define HEDDLE_CODEGEN_PLANSHAPES_H

#include "runtime/plan/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle {

/// Extents of one tensor, or of one member of a list: as many as its rank.
using Extents = llvm::SmallVector<int64_t, 4>;

int64_t elementCount(llvm::ArrayRef<int64_t> extents);

/// Reads an array of arrays of extents; `where` begins the text of errors.
llvm::Expected<std::vector<Extents>>
shapesFromJSON(const llvm::json::Value &value, llvm::StringRef where);

/// The extents of every member of every list of a plan.
class PlanShapes {
public:
  /// Every list argument has one member for each of `shapes`: of rank 2 the
  /// leading dimensions collapsed into rows, of rank 1 all of them, unless the
  /// plan binds it to the rows or columns of a list of rank 2.
  static PlanShapes bind(const runtime::Plan &plan,
                         llvm::ArrayRef<Extents> shapes);

  /// Empty for a scalar.
  llvm::ArrayRef<Extents> of(int buffer) const { return buffers[buffer]; }
  /// Over all members.
  int64_t elementsOf(int buffer) const;
  int64_t tilesOf(int table) const;
  /// Kernels, copies and fills of one step; those in a loop count once.
  int64_t launches() const;

private:
  explicit PlanShapes(const runtime::Plan &plan) : plan(plan) {}
  int64_t launches(const runtime::PlanGraph &graph) const;

  const runtime::Plan &plan;
  std::vector<std::vector<Extents>> buffers;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_PLANSHAPES_H

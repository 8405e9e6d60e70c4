//===- Domains.h - which lists have the same members and extents -*- C++ -*-==//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents are bound at run time, but a program implies equalities: operands of
// one domain have equal extents, and results agree with the operands.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_DOMAINS_H
#define HEDDLE_PASSES_DOMAINS_H

#include "dialect/Fused.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace heddle::fused {

/// The classes of a list's member count and extents, or of a domain's.
struct Shape {
  int members = -1;
  llvm::SmallVector<int, 2> extents;
  bool operator==(const Shape &) const = default;
  bool operator<(const Shape &other) const {
    return std::tie(members, extents) < std::tie(other.members, other.extents);
  }
};

class Domains {
public:
  explicit Domains(ProgramOp program);

  /// The shape of a list.
  Shape shapeOf(mlir::Value list) const;
  /// The domain of a segment; it has one extent per dimension.
  Shape domainOf(SweepOp sweep, unsigned segment) const;
  /// The first list argument with an extent of the class `extent`, and its
  /// dimension.
  std::optional<std::pair<unsigned, unsigned>> sourceOf(int extent) const;
  /// The first list argument with members of the class `members`.
  std::optional<unsigned> membersSource(int members) const;
  /// The first list argument with the shape `shape`.
  std::optional<unsigned> argumentOf(const Shape &shape) const;

private:
  struct Raw {
    int members;
    llvm::SmallVector<int, 2> extents;
  };
  Raw &raw(mlir::Value list);
  void visit(mlir::Block &block);
  void visitSweep(SweepOp sweep);
  void visitLoop(LoopOp loop);
  void equate(mlir::Value a, mlir::Value b);
  void equate(int a, int b);
  int find(int id) const;
  int fresh();

  void findArguments(ProgramOp program);

  mutable llvm::SmallVector<int> parents;
  llvm::DenseMap<mlir::Value, Raw> shapes;
  /// The first arguments with an extent, with members, and of a shape.
  llvm::DenseMap<int, std::pair<unsigned, unsigned>> byExtent;
  llvm::DenseMap<int, unsigned> byMembers;
  std::map<Shape, unsigned> byShape;
};

} // namespace heddle::fused

#endif // HEDDLE_PASSES_DOMAINS_H

//===- FusionGraph.h - dependences between groups of operations -*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both fusions first decide which operations of a block become one, and change
// the IR once, at the end. Until then, the operations form groups. This file
// has the dependences and the order of the groups. Operations are pure, so only
// dependences restrict their order.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_FUSIONGRAPH_H
#define HEDDLE_PASSES_FUSIONGRAPH_H

#include "dialect/Fused.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>

namespace heddle::fused {

/// The operations of a block are numbered in order; the terminator is the last.
/// A group has the number of one of its operations. At first, each operation is
/// a group.
class FusionGraph {
public:
  explicit FusionGraph(mlir::Block &block);

  int size() const { return nodes.size(); }
  mlir::Operation *operation(int number) const { return nodes[number].op; }
  /// The number of the operation of the block that is or contains `op`, or -1.
  int numberOf(mlir::Operation *op) const;
  /// The group of the operation `number`.
  int find(int number) const;
  /// The operations of a group, in the order of their bodies.
  llvm::SmallVector<mlir::Operation *> membersOf(int group) const;
  mlir::Operation *firstOf(int group) const;
  mlir::Operation *lastOf(int group) const;

  /// Positions rise in the order of the groups.
  int64_t positionOf(int group) const { return nodes[group].position; }
  bool precedes(int a, int b) const { return positionOf(a) < positionOf(b); }
  /// All groups in order.
  llvm::SmallVector<int> inOrder() const;

  /// The number of groups that `group` depends on, or that depend on it.
  size_t degreeOf(int group) const;
  /// Whether the segments of `to`, not only its epilogue, read results of
  /// `from`.
  bool segmentsRead(int to, int from) const;
  /// The groups that read results of `group`, and whether they do so outside
  /// of their epilogues.
  using Edges = std::map<int, bool>;
  const Edges &readersOf(int group) const { return nodes[group].readers; }

  /// Whether `second` depends on `first` through a third group. Also true if
  /// the search ends before it has an answer, because there are too many
  /// dependences between the two.
  bool haveGroupBetween(int first, int second) const;
  /// Makes one group of `first` and `second`, which have no group between them.
  /// Its number is `kept`, one of the two. It takes the position of `second`,
  /// and the groups between the two that depend on `first` move after it. If
  /// these are too many, it takes the position of `first`, and the groups
  /// between the two on which `second` depends move before it.
  void merge(int first, int second, int kept);

private:
  struct Node {
    mlir::Operation *op = nullptr;
    int64_t position = 0;
    /// The neighbours in the order of the groups.
    int previous = -1, next = -1;
    /// The operations of a group are a chain from its first to its last.
    int firstMember = -1, lastMember = -1, nextMember = -1;
    Edges readers, sources;
  };
  enum class Direction { fromFirst, fromSecond };
  enum class Found { path, none, unknown };
  Found search(int first, int second, Direction direction,
               llvm::SmallVectorImpl<int> &between) const;
  void contract(int gone, int kept);
  void unlink(int group);
  void replaceInOrder(int group, int of);
  void insertAfter(int place, llvm::ArrayRef<int> groups);
  void renumber();

  llvm::SmallVector<Node, 0> nodes;
  llvm::DenseMap<mlir::Operation *, int> numbers;
  mutable llvm::SmallVector<int> parents;
  mlir::Block &block;
  int front = -1;
};

} // namespace heddle::fused

#endif // HEDDLE_PASSES_FUSIONGRAPH_H

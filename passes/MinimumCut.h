//===- MinimumCut.h - the cheapest cut of a small graph ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dinic's algorithm. For graphs of at most some thousand nodes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_MINIMUMCUT_H
#define HEDDLE_PASSES_MINIMUMCUT_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace heddle {

class MinimumCut {
public:
  /// The capacity of an edge that no finite cut contains.
  static constexpr int64_t kInfinite = int64_t(1) << 60;
  static constexpr int kSource = 0, kSink = 1;

  explicit MinimumCut(int nodes) : edgesOf(nodes + 2) {}

  /// The nodes are numbered from 2, after the source and the sink.
  void addEdge(int from, int to, int64_t capacity);
  /// The capacity of the cheapest cut; at least kInfinite if each cut contains
  /// an edge of that capacity.
  int64_t run();
  /// Whether the node is on the side of the sink, in the cheapest cut with the
  /// fewest nodes on that side.
  bool isOnSinkSide(int node) const { return sinkSide[node]; }

private:
  struct Edge {
    int to;
    /// What is left of the capacity. The reverse edge has the next even or
    /// odd number.
    int64_t left;
  };
  bool findDistances();
  int64_t push(int node, int64_t limit);
  void findSinkSide();

  llvm::SmallVector<Edge, 0> edges;
  llvm::SmallVector<llvm::SmallVector<int, 4>, 0> edgesOf;
  /// The distance of a node from the source, and its next edge to try.
  llvm::SmallVector<int> distances;
  llvm::SmallVector<unsigned> nextEdge;
  llvm::SmallVector<bool> sinkSide;
};

} // namespace heddle

#endif // HEDDLE_PASSES_MINIMUMCUT_H

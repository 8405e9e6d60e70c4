//===- MinimumCut.cpp - the cheapest cut of a small graph -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flow rises along shortest paths until no path is left. The capacity of
// the cheapest cut is the largest flow.
//
//===----------------------------------------------------------------------===//

#include "passes/MinimumCut.h"

#include <algorithm>

namespace heddle {

void MinimumCut::addEdge(int from, int to, int64_t capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

/// Finds the distances from the source; returns whether a path to the sink is
/// left.
bool MinimumCut::findDistances() {
  distances.assign(edgesOf.size(), -1);
  llvm::SmallVector<int> queue = {kSource};
  distances[kSource] = 0;
  for (size_t k = 0; k < queue.size(); ++k)
    for (int number : edgesOf[queue[k]]) {
      const Edge &edge = edges[number];
      if (edge.left == 0 || distances[edge.to] >= 0)
        continue;
      distances[edge.to] = distances[queue[k]] + 1;
      queue.push_back(edge.to);
    }
  return distances[kSink] >= 0;
}

/// Raises the flow from `node` to the sink by at most `limit`, along edges to
/// larger distances.
int64_t MinimumCut::push(int node, int64_t limit) {
  if (node == kSink)
    return limit;
  for (unsigned &k = nextEdge[node]; k < edgesOf[node].size(); ++k) {
    int number = edgesOf[node][k];
    auto [to, left] = edges[number];
    if (left == 0 || distances[to] != distances[node] + 1)
      continue;
    if (int64_t pushed = push(to, std::min(limit, left))) {
      edges[number].left -= pushed;
      edges[number ^ 1].left += pushed;
      return pushed;
    }
  }
  return 0;
}

/// The nodes from which an edge with capacity left leads to the sink side.
void MinimumCut::findSinkSide() {
  sinkSide.assign(edgesOf.size(), false);
  llvm::SmallVector<int> worklist = {kSink};
  sinkSide[kSink] = true;
  while (!worklist.empty())
    for (int number : edgesOf[worklist.pop_back_val()]) {
      int from = edges[number].to;
      if (sinkSide[from] || edges[number ^ 1].left == 0)
        continue;
      sinkSide[from] = true;
      worklist.push_back(from);
    }
}

int64_t MinimumCut::run() {
  int64_t flow = 0;
  while (flow < kInfinite && findDistances()) {
    nextEdge.assign(edgesOf.size(), 0);
    while (int64_t pushed = push(kSource, kInfinite)) {
      flow += pushed;
      if (flow >= kInfinite)
        break;
    }
  }
  findSinkSide();
  return flow;
}

} // namespace heddle

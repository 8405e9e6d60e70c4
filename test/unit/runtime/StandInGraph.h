//===- StandInGraph.h - Graphs of the stand-in driver ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs and conditional loops behave as the driver's documentation says.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_STANDINGRAPH_H
#define HEDDLE_TEST_UNIT_RUNTIME_STANDINGRAPH_H

#include "StandInKernels.h"

#include <memory>

namespace stand_in {

struct Function {
  std::string name;
};

struct Graph;

struct Node {
  std::vector<Node *> dependencies;
  Function *function = nullptr;
  unsigned grid = 0;
  Arguments arguments;
  bool cooperative = false;
  CUgraphConditionalHandle condition = 0;
  std::unique_ptr<Graph> body;
  CUgraph bodyHandle = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

/// An instantiated graph. It is a copy, because changing the instantiated graph
/// does not change the graph, and vice versa.
struct Exec {
  std::unique_ptr<Graph> graph;
  std::map<const Node *, Node *> instantiated;
};

void setParameters(Node &node, const CUDA_KERNEL_NODE_PARAMS &parameters);

/// A copy of `graph`; `copies` gets the copy of each node.
std::unique_ptr<Graph> copyGraph(const Graph &graph,
                                 std::map<const Node *, Node *> &copies);

void run(const Graph &graph);

} // namespace stand_in

#endif // HEDDLE_TEST_UNIT_RUNTIME_STANDINGRAPH_H

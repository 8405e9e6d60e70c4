//===- StandInGraph.cpp - Graphs of the stand-in driver -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandInGraph.h"

#include <cstring>
#include <utility>

namespace stand_in {

void setParameters(Node &node, const CUDA_KERNEL_NODE_PARAMS &parameters) {
  node.function = reinterpret_cast<Function *>(parameters.func);
  node.grid = parameters.gridDimX;
  node.arguments.resize(argumentCount(node.function->name));
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    auto from = static_cast<const char *>(parameters.kernelParams[i]);
    node.arguments[i].assign(from,
                             from + argumentBytes(node.function->name, i));
  }
}

std::unique_ptr<Graph> copyGraph(const Graph &graph,
                                 std::map<const Node *, Node *> &copies) {
  auto copy = std::make_unique<Graph>();
  for (const auto &node : graph.nodes) {
    auto fresh = std::make_unique<Node>();
    fresh->function = node->function;
    fresh->grid = node->grid;
    fresh->arguments = node->arguments;
    fresh->condition = node->condition;
    for (Node *dependency : node->dependencies)
      fresh->dependencies.push_back(copies.at(dependency)); // an earlier node
    if (node->body)
      fresh->body = copyGraph(*node->body, copies);
    copies[node.get()] = fresh.get();
    copy->nodes.push_back(std::move(fresh));
  }
  return copy;
}

void run(const Graph &graph) {
  for (const auto &node : graph.nodes) {
    if (!node->body)
      runKernel(node->function->name, node->arguments, node->grid);
    else
      while (conditions[node->condition])
        run(*node->body);
  }
}

} // namespace stand_in

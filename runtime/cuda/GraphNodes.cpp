//===- GraphNodes.cpp - The nodes of a CUDA graph -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instantiates steps as nodes and edges, and updates an instantiated graph with
// the same nodes and edges in place.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Graph.h"

#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

/// Appends the kernels of the steps, in the order in which addSteps() adds
/// nodes.
static void flatten(std::vector<Step> &steps, std::vector<Launch *> &out) {
  for (Step &step : steps) {
    out.push_back(&step.launch);
    for (Launch &launch : step.further)
      out.push_back(&launch);
    if (!step.loop)
      continue;
    flatten(step.body, out);
    out.push_back(&step.next);
  }
}

Expected<CUgraphNode> Graph::addKernel(CUgraph graph, Launch &launch,
                                       ArrayRef<CUgraphNode> dependencies,
                                       CUgraphConditionalHandle condition,
                                       std::vector<Node> &nodes) {
  const Driver &driver = device->driver();
  if (condition)
    std::memcpy(launch.arguments[0].data(), &condition, sizeof(condition));
  std::vector<void *> pointers = launch.pointers();
  CUDA_KERNEL_NODE_PARAMS parameters = kernelNodeParameters(launch, pointers);
  Node added;
  added.condition = condition;
  if (CUresult result =
          driver.cuGraphAddKernelNode(&added.node, graph, dependencies.data(),
                                      dependencies.size(), &parameters))
    return withContext("node '" + launch.name + "'",
                       driverError(driver, result, "cuGraphAddKernelNode"));
  if (!added.node)
    return nullError("cuGraphAddKernelNode");
  if (launch.cooperative) {
    CUkernelNodeAttrValue value = {};
    value.cooperative = 1;
    HEDDLE_DRIVER_CALL(driver, cuGraphKernelNodeSetAttribute, added.node,
                       CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value);
  }
  if (launch.cluster > 1) {
    CUkernelNodeAttrValue value = {};
    value.clusterDim = {launch.cluster, 1, 1};
    HEDDLE_DRIVER_CALL(driver, cuGraphKernelNodeSetAttribute, added.node,
                       CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  }
  nodes.push_back(added);
  return added.node;
}

/// Adds a programmatic edge, or an ordinary edge if the driver refuses it.
Error Graph::addEdge(CUgraph graph, CUgraphNode from, CUgraphNode to) {
  const Driver &driver = device->driver();
  CUgraphEdgeData data = {};
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  if (driver.graphAddDependencies(graph, &from, &to, &data, 1) ==
      CUDA_SUCCESS) {
    count(statistics().programmatic_edges);
    return Error::success();
  }
  data = {};
  if (CUresult result =
          driver.graphAddDependencies(graph, &from, &to, &data, 1))
    return driverError(driver, result, "cuGraphAddDependencies");
  return Error::success();
}

/// Adds the steps. Returns the nodes that end a step.
Expected<std::vector<CUgraphNode>> Graph::addSteps(CUgraph graph,
                                                   std::vector<Step> &list,
                                                   ArrayRef<PlanEdge> edges,
                                                   std::vector<Node> &nodes) {
  const Driver &driver = device->driver();
  // For each step, the nodes on which later steps depend.
  std::vector<SmallVector<CUgraphNode, 1>> last;
  for (auto [index, step] : enumerate(list)) {
    SmallVector<CUgraphNode> dependencies;
    for (const PlanEdge &edge : edges)
      if (edge.to == static_cast<int>(index) && edge.from != step.overlaps)
        for (CUgraphNode node : last[edge.from])
          if (!is_contained(dependencies, node))
            dependencies.push_back(node);
    CUgraphConditionalHandle condition = 0;
    if (step.loop)
      HEDDLE_DRIVER_CALL(driver, cuGraphConditionalHandleCreate, &condition,
                         graph, device->handle(), 0, 0);
    Expected<CUgraphNode> kernel =
        addKernel(graph, step.launch, dependencies, condition, nodes);
    if (!kernel)
      return kernel.takeError();
    if (step.overlaps >= 0)
      if (Error error = addEdge(graph, last[step.overlaps].front(), *kernel))
        return std::move(error);
    last.push_back({*kernel});
    for (Launch &launch : step.further) {
      Expected<CUgraphNode> added =
          addKernel(graph, launch, dependencies, /*condition=*/0, nodes);
      if (!added)
        return added.takeError();
      last.back().push_back(*added);
    }
    if (!step.loop)
      continue;
    CUgraphNodeParams parameters = {};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = condition;
    parameters.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    parameters.conditional.size = 1;
    parameters.conditional.ctx = device->handle();
    CUgraphNode conditional = nullptr;
    CUgraphNode begin = *kernel;
    if (CUresult result = driver.graphAddNode(&conditional, graph, &begin,
                                              nullptr, 1, &parameters))
      return withContext("node '" + step.launch.name + "'",
                         driverError(driver, result, "cuGraphAddNode"));
    if (!conditional || !parameters.conditional.phGraph_out ||
        !parameters.conditional.phGraph_out[0])
      return nullError("cuGraphAddNode");
    CUgraph body = parameters.conditional.phGraph_out[0];
    // The kernel that ends an iteration depends on every step of the body.
    Expected<std::vector<CUgraphNode>> ends =
        addSteps(body, step.body, step.edges, nodes);
    if (!ends)
      return ends.takeError();
    Expected<CUgraphNode> next =
        addKernel(body, step.next, *ends, condition, nodes);
    if (!next)
      return next.takeError();
    last.back() = {conditional};
  }
  std::vector<CUgraphNode> ends;
  for (ArrayRef<CUgraphNode> nodes : last)
    append_range(ends, nodes);
  return ends;
}

Graph::Instance Graph::index(std::vector<Step> steps) const {
  Instance result;
  result.steps = std::move(steps);
  flatten(result.steps, result.launches);
  result.nodesOfScalar.resize(plan().buffers.size());
  for (auto [index, launch] : enumerate(result.launches))
    for (const Launch::Scalar &scalar : launch->scalars)
      result.nodesOfScalar[scalar.buffer].push_back(index);
  for (auto [index, launch] : enumerate(result.launches))
    if (!launch->distances.empty())
      result.nodesOfDistances.push_back(index);
  result.changedNodes.reserve(result.launches.size());
  result.nodeChanged.resize(result.launches.size());
  return result;
}

Error Graph::instantiate(Instance &next) {
  const Driver &driver = device->driver();
  Expected<GraphHandle> fresh = createGraph(device);
  if (!fresh)
    return fresh.takeError();
  Expected<std::vector<CUgraphNode>> ends =
      addSteps(fresh->get(), next.steps, plan().graph.edges, next.nodes);
  if (!ends)
    return ends.takeError();
  CUgraphExec instantiated = nullptr;
  HEDDLE_DRIVER_CALL(driver, cuGraphInstantiateWithFlags, &instantiated,
                     fresh->get(), 0);
  if (!instantiated)
    return nullError("cuGraphInstantiateWithFlags");
  next.executable = GraphExecHandle(device, instantiated, "executable graph");
  next.graph = std::move(*fresh);
  count(statistics().graph_instantiations);
  return Error::success();
}

static bool sameAttributes(const Launch &a, const Launch &b) {
  return a.cooperative == b.cooperative && a.cluster == b.cluster;
}

/// Whether both have the same nodes and edges: the same loops, programmatic
/// edges, cooperative kernels and clusters. Everything else can be set in an
/// instantiated graph.
static bool sameShape(ArrayRef<Step> a, ArrayRef<Step> b) {
  return a.size() == b.size() && all_of(zip(a, b), [](const auto &pair) {
           const auto &[x, y] = pair;
           return x.loop == y.loop && x.overlaps == y.overlaps &&
                  sameAttributes(x.launch, y.launch) &&
                  std::equal(x.further.begin(), x.further.end(),
                             y.further.begin(), y.further.end(),
                             sameAttributes) &&
                  sameShape(x.body, y.body);
         });
}

Error Graph::adopt(Instance next) {
  bool update = instance.executable && !partlyUpdated &&
                sameShape(instance.steps, next.steps);
  if (update) {
    partlyUpdated = true;
    update = updateNodes(next);
  }
  if (update) {
    next.nodes = std::move(instance.nodes);
    next.graph = std::move(instance.graph);
    next.executable = std::move(instance.executable);
  } else if (Error error = instantiate(next)) {
    // The previous graph stays.
    return error;
  }
  instance = std::move(next);
  partlyUpdated = false;
  return Error::success();
}

bool Graph::updateNodes(Instance &next) {
  const Driver &driver = device->driver();
  bool inPlace = true;
  for (auto [index, node, before, after] :
       enumerate(instance.nodes, instance.launches, next.launches)) {
    if (node.condition)
      std::memcpy(after->arguments[0].data(), &node.condition,
                  sizeof(node.condition));
    if (*before == *after && !instance.nodeChanged[index])
      continue;
    std::vector<void *> pointers = after->pointers();
    CUDA_KERNEL_NODE_PARAMS parameters = kernelNodeParameters(*after, pointers);
    // The graph must have the new parameters, too: cuGraphExecUpdate reads it.
    if (driver.cuGraphKernelNodeSetParams(node.node, &parameters) !=
        CUDA_SUCCESS)
      return false;
    if (!inPlace)
      continue;
    if (driver.cuGraphExecKernelNodeSetParams(
            instance.executable.get(), node.node, &parameters) == CUDA_SUCCESS)
      count(statistics().graph_node_updates);
    else
      inPlace = false;
  }
  if (inPlace)
    return true;
  // updateChanged() set parameters in the instantiated graph only.
  for (auto [node, after] : zip_equal(instance.nodes, next.launches)) {
    std::vector<void *> pointers = after->pointers();
    CUDA_KERNEL_NODE_PARAMS parameters = kernelNodeParameters(*after, pointers);
    bool changes = !after->scalars.empty() || !after->distances.empty();
    if (changes && driver.cuGraphKernelNodeSetParams(node.node, &parameters) !=
                       CUDA_SUCCESS)
      return false;
  }
  // A driver may refuse to update single nodes, such as those of a loop's body,
  // and accept an update of the whole graph.
  CUgraphExecUpdateResultInfo info = {};
  if (driver.cuGraphExecUpdate(instance.executable.get(), instance.graph.get(),
                               &info) != CUDA_SUCCESS)
    return false;
  count(statistics().graph_updates);
  return true;
}

} // namespace heddle::runtime

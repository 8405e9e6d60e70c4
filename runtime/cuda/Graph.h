//===- Graph.h - A plan as one CUDA graph ---------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prepare() builds the CUDA graph and instantiates it once. replay() is one
// cuGraphLaunch. New addresses of lists with the same shapes change parameters
// of nodes, or descriptors of tables. Other bindings copy the tables (ordered
// on the stream), expand them on the device, and set the parameters of the
// nodes whose grid or arguments changed. The graph is instantiated again only
// if its nodes or edges change.
//
// By-value scalars are parameters of the nodes where possible. Setting one
// changes the parameters before the next launch and costs no device time. Its
// scalar slot is written only if a kernel reads it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_GRAPH_H
#define HEDDLE_RUNTIME_CUDA_GRAPH_H

#include "runtime/binding/OperandMoves.h"
#include "runtime/cuda/DeviceSpace.h"
#include "runtime/cuda/GraphSteps.h"
#include "runtime/program/ProgramGraph.h"

namespace heddle::runtime {

class Graph : public ProgramGraph {
public:
  /// Loads the executable's kernels into `context`.
  static llvm::Expected<std::unique_ptr<Graph>>
  create(std::shared_ptr<Executable> executable, ContextPtr context);
  ~Graph() override;

  /// One cuGraphLaunch on `stream`. While the caller captures the stream, adds
  /// the step to the capture as plain launches. BadInput, with nothing added,
  /// if prepare() did not run before the capture, or if a loop has neither a
  /// panel nor a cooperative form.
  llvm::Error replay(void *stream) override;
  llvm::Error synchronize(void *stream) override;

  const ContextPtr &context() const { return device; }

private:
  struct Node {
    CUgraphNode node = nullptr;
    /// Of the kernel before a loop, and of the last kernel of its body.
    CUgraphConditionalHandle condition = 0;
  };

  /// The instantiated graph and the steps that it runs.
  struct Instance {
    std::vector<Step> steps;
    std::vector<Launch *> launches; ///< the kernels of `steps`, bodies included
    std::vector<Node> nodes;        ///< of `launches`
    /// For each buffer: the nodes that take its value as a parameter.
    std::vector<std::vector<unsigned>> nodesOfScalar;
    /// Nodes whose scalars or distances changed since the last launch. It has
    /// the capacity for all, so that setting a scalar cannot fail half-way.
    std::vector<unsigned> changedNodes;
    std::vector<bool> nodeChanged;
    void change(unsigned node) {
      if (!nodeChanged[node])
        changedNodes.push_back(node);
      nodeChanged[node] = true;
    }
    /// Nodes that take distances, and whether one is not 0.
    std::vector<unsigned> nodesOfDistances;
    bool hasMoved = false;
    GraphHandle graph;
    GraphExecHandle executable;
  };

  Graph(std::shared_ptr<Executable> executable, ContextPtr context);

  llvm::Error update(Layout &next, void *stream) override;
  llvm::Error move(const Rebinding &rebinding,
                   llvm::ArrayRef<MovedMember> moved, void *stream) override;
  AddressSpace &addressSpace() override;
  llvm::Error checkProcess() override {
    return device->creator().check("graph");
  }
  llvm::Error acceptScalar(void *stream) override;
  llvm::Error scalarChanged(int buffer, const ScalarBytes &bytes,
                            void *stream) override;
  llvm::Error read(void *to, const void *from, size_t bytes,
                   void *stream) override;

  llvm::Error refuseInCapture(CUstream stream, llvm::StringRef what);
  llvm::Error reserve(DeviceMemory &memory, size_t bytes, CUstream stream);
  /// An instance of `steps` without nodes and CUDA objects.
  Instance index(std::vector<Step> steps) const;
  /// Brings the instantiated graph to `next`.
  llvm::Error adopt(Instance next);
  llvm::Error instantiate(Instance &next);
  llvm::Expected<std::vector<CUgraphNode>>
  addSteps(CUgraph graph, std::vector<Step> &list,
           llvm::ArrayRef<PlanEdge> edges, std::vector<Node> &nodes);
  llvm::Expected<CUgraphNode>
  addKernel(CUgraph graph, Launch &launch,
            llvm::ArrayRef<CUgraphNode> dependencies,
            CUgraphConditionalHandle condition, std::vector<Node> &nodes);
  llvm::Error addEdge(CUgraph graph, CUgraphNode from, CUgraphNode to);
  /// Updates the instantiated graph to the launches of `next`. Returns false if
  /// it must be instantiated again.
  bool updateNodes(Instance &next);
  llvm::Error updateChanged();
  llvm::Error writeSlot(int buffer, const char *bytes, CUstream stream);
  llvm::Error writeStaleSlots();
  llvm::Error writeDistances();
  llvm::Error launchDistances(CUstream stream);
  llvm::Error launchMoves(OperandMoves &moves, CUstream stream);
  llvm::Error createOwnStream();
  /// Calls `action`, which may use driver functions that a capture on this
  /// thread forbids.
  llvm::Error whileCapturing(llvm::function_ref<llvm::Error()> action);
  llvm::Error loadCapturedKernels(std::vector<Step> &list);
  llvm::Error launchKernel(Launch &launch, CUstream stream,
                           bool overlaps = false);
  llvm::Error issue(std::vector<Step> &list, CUstream stream);

  ContextPtr device;
  std::unique_ptr<DeviceSpace> space;

  DeviceMemory slotMemory; ///< scalar slots; allocated once
  DeviceMemory arena;      ///< owned lists
  /// Member descriptors, segment steps, span descriptors.
  DeviceMemory uploaded;
  DeviceMemory cleared; ///< tickets and zeroed scratch areas
  DeviceMemory work;    ///< tile descriptors and other scratch areas

  std::vector<TableDescriptors> descriptors; ///< of each table

  Instance instance;
  /// Whether an update of the instantiated graph ended half-way.
  bool partlyUpdated = false;

  /// For each buffer: whether replays read its scalar slot, and whether the
  /// slot does not have the value that was set last.
  std::vector<bool> slotRead, slotStale;
  /// Whether a replay was captured. The captured graph reads the scalar slots
  /// as long as the caller keeps it.
  bool captured = false;
  StreamHandle ownStream; ///< of writeStaleSlots() and writeDistances()
  /// After all submitted replays, if launches take distances that are not 0.
  EventHandle replayed;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_GRAPH_H

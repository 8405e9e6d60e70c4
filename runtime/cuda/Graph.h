//===- Graph.h - A plan as one CUDA graph ---------------------------------===//
//
// prepare() builds the CUDA graph and instantiates it once; replay() is one
// cuGraphLaunch. Rebinding copies the tables that changed (ordered on the
// stream), lets the device expand them, and sets the parameters of the nodes
// whose grid or arguments changed; the graph is instantiated again only if a
// node must change its form.
//
// By-value scalars (scalar arguments that nothing in the program writes) are
// parameters of the nodes where possible: setting one changes those parameters
// before the next launch, at no cost on the device. Their slots in device
// memory are written only if a kernel reads them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_GRAPH_H
#define HEDDLE_RUNTIME_CUDA_GRAPH_H

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

  /// One cuGraphLaunch on `stream`. While the caller captures the stream, the
  /// same plan is issued into the capture as plain launches; prepare() must
  /// have run before the capture, and loops need their cooperative form
  /// (BadInput otherwise, with nothing issued).
  llvm::Error replay(void *stream) override;
  llvm::Error synchronize(void *stream) override;

  const ContextPtr &context() const { return device; }

private:
  struct Node {
    CUgraphNode node = nullptr;
    CUgraphConditionalHandle condition =
        0; ///< of a loop's first and last kernel
  };

  Graph(std::shared_ptr<Executable> executable, ContextPtr context);

  llvm::Error update(Layout &next, void *stream) override;
  AddressSpace &addressSpace() override;
  llvm::Error acceptScalar(void *stream) override;
  llvm::Error scalarChanged(int buffer, const ScalarBytes &bytes,
                            void *stream) override;
  llvm::Error read(void *to, const void *from, size_t bytes,
                   void *stream) override;

  llvm::Error refuseInCapture(CUstream stream, llvm::StringRef what);
  llvm::Error reserve(DeviceMemory &memory, size_t bytes, CUstream stream);
  llvm::Error instantiate(std::vector<Step> steps);
  llvm::Expected<std::vector<CUgraphNode>>
  addSteps(CUgraph graph, std::vector<Step> &list,
           llvm::ArrayRef<PlanEdge> edges);
  llvm::Expected<CUgraphNode>
  addKernel(CUgraph graph, Launch &launch,
            llvm::ArrayRef<CUgraphNode> dependencies,
            CUgraphConditionalHandle condition);
  llvm::Error addEdge(CUgraph graph, CUgraphNode from, CUgraphNode to);
  /// Brings the instantiated graph to `steps`; false if it must be instantiated
  /// anew.
  bool updateNodes(std::vector<Step> &steps);
  /// Takes over steps that the instantiated graph now has.
  void adopt(std::vector<Step> next);
  llvm::Error updateScalars();
  llvm::Error writeSlot(int buffer, const char *bytes, CUstream stream);
  llvm::Error bringSlotsUpToDate();
  llvm::Error launchPlainly(Launch &launch, CUstream stream,
                            bool overlaps = false);
  llvm::Error issue(std::vector<Step> &list, CUstream stream);

  ContextPtr device;
  std::unique_ptr<DeviceSpace> space;

  DeviceMemory slotMemory; ///< owned scalars; allocated once
  DeviceMemory arena;      ///< owned lists
  DeviceMemory
      uploaded;         ///< member descriptors, segment steps, span descriptors
  DeviceMemory cleared; ///< tickets and zeroed scratch
  DeviceMemory work;    ///< tile descriptors and other scratch

  std::vector<Step> steps;
  std::vector<Node>
      nodes; ///< kernels of the graph, in the order of flatten(steps)
  std::vector<Launch *> launches; ///< flatten(steps)

  /// By buffer: the nodes that take its value.
  std::vector<std::vector<unsigned>> nodesOfScalar;
  /// Nodes whose scalars changed since the last launch.
  std::vector<unsigned> changedNodes;
  std::vector<bool> nodeChanged;
  /// By buffer: whether replays read its own slot, and whether the slot lacks
  /// the value that was set last.
  std::vector<bool> slotRead, slotBehind;
  /// A captured plan reads slots for as long as the user keeps it.
  bool captured = false;
  StreamHandle ownStream; ///< for slots that are read by a capture under way
  GraphHandle graph;
  GraphExecHandle executableGraph;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_GRAPH_H

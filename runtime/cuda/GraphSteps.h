//===- GraphSteps.h - A plan's nodes with everything filled in ------------===//
//
// Between a Layout and the driver: which variant of each node runs, with which
// grid and which argument bytes. The same steps become nodes of a CUDA graph,
// or plain launches into a capture that the user owns.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_GRAPHSTEPS_H
#define HEDDLE_RUNTIME_CUDA_GRAPHSTEPS_H

#include "runtime/binding/Layout.h"
#include "runtime/cuda/Launch.h"
#include "runtime/program/KernelUnits.h"

#include <optional>
#include <vector>

namespace heddle::runtime {

struct Step {
  bool loop = false; ///< a conditional WHILE node around `body`
  /// The kernel; of a loop, the kernel before it, which sets its
  /// iterations to 0. The condition's
  /// handle comes in front of its arguments.
  Launch launch;
  Launch next; ///< of a loop: the end of an iteration
  std::vector<Step> body;
  std::vector<PlanEdge> edges; ///< of the body
  /// The step that this one may begin before the end of; -1: none.
  int overlaps = -1;
  /// Issued into a capture of the user instead of `launch`: the loop in
  /// one cooperative launch, or scalars by their address.
  std::optional<Launch> captured;
};

/// Chooses variants, then builds steps. One object per prepare().
class StepBuilder {
public:
  StepBuilder(const Layout &layout, ContextPtr context, KernelUnits &kernels)
      : layout(layout), plan(layout.plan()), context(std::move(context)),
        kernels(kernels) {}

  /// Decides the variant of every node. Fails if none can run on this device.
  llvm::Error choose();

  /// After choose(): whether a chosen variant reads the tile descriptors of the
  /// table.
  bool needsTileDescriptors(int table) const { return tileDescriptors[table]; }
  /// The descriptors of the spans of copies, fills and loops: of the final size
  /// after choose(), with their contents after build().
  const std::vector<char> &spanDescriptors() const { return rows; }

  /// The addresses that build() fills in.
  struct Addresses {
    std::vector<DeviceTable> tables;
    std::vector<char *> scratch;
    char *spanDescriptors = nullptr;
    /// The values of the slots of own scalars, for scalars by value.
    const char *slotValues = nullptr;
  };
  /// After Layout::place().
  llvm::Expected<std::vector<Step>> build(const Addresses &addresses);
  /// After build(): whether a replay reads the own slot of a scalar. (Reads of
  /// a capture do not count.)
  const std::vector<bool> &readsSlot() const { return slotReads; }

private:
  /// The panel form of a loop, in the class of the bound extents.
  struct PanelChoice {
    PlanVariant variant;
    CUfunction function;
    unsigned grid;
  };
  struct Choice {
    std::optional<PanelChoice> panel;
    const PlanVariant *replayed = nullptr; ///< null: no kernel (copy, fill)
    /// For a capture of the user; null for a loop without a
    /// cooperative variant, and where only replays run a node.
    const PlanVariant *captured = nullptr;
    unsigned grid = 1, capturedGrid = 1;
    size_t spansOffset = 0; ///< spans
    int spanCount = 0;
    int64_t chunks = 0;
  };

  /// The size class of a panel loop for the bound extents; nothing if the loop
  /// has no panel form, or none for these extents on this device.
  std::optional<PanelClass> sizeClassOf(const PlanNode &node) const;
  llvm::Error compile();
  llvm::Error chooseIn(const PlanGraph &graph, bool inLoop);
  llvm::Error chooseVariants(const PlanNode &node, Choice &choice, bool inLoop);
  /// Nothing where the loop cannot run in panels here.
  llvm::Expected<std::optional<PanelChoice>> choosePanel(const PlanNode &node);
  /// Whether the predicates of a variant hold, for a replay or for a capture.
  bool holds(const PlanNode &node, const PlanVariant &variant,
             bool forCapture) const;
  /// The grid of a variant, or 0 if it cannot run here.
  llvm::Expected<unsigned> gridOf(const PlanNode &node,
                                  const PlanVariant &variant);
  bool hasNoWork(const PlanNode &node) const;
  void addOverlaps(const PlanGraph &graph, std::vector<Step> &steps) const;
  void addSpans(const PlanNode &node, Choice &choice);
  std::vector<Span> spansOf(const PlanNode &node) const;
  void writeSpans(const PlanNode &node, const Choice &choice);
  std::pair<int64_t, int64_t> tilesOfNode(const PlanNode &node) const;

  llvm::Expected<std::vector<Step>> buildIn(const PlanGraph &graph,
                                            const Addresses &addresses);
  llvm::Expected<Launch> kernel(const PlanNode &node,
                                const PlanVariant &variant, unsigned grid,
                                const Addresses &addresses, bool replayed);
  llvm::Expected<Launch> panel(const PlanNode &node, const PanelChoice &choice,
                               const Addresses &addresses);
  void addArguments(llvm::ArrayRef<PlanArgument> arguments, bool byValue,
                    const Addresses &addresses, bool replayed, Launch &launch);
  llvm::Error loop(const PlanNode &node, const Choice &choice,
                   const Addresses &addresses, Step &step);
  llvm::Expected<Launch> copyOrFill(const PlanNode &node, const Choice &choice,
                                    const Addresses &addresses);

  const Layout &layout;
  const Plan &plan;
  ContextPtr context;
  KernelUnits &kernels;
  std::vector<bool> tileDescriptors, slotReads;
  std::vector<Choice>
      choices; ///< of every node, bodies after their loop, in plan order
  std::vector<char> rows;
  size_t nextChoice = 0;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_GRAPHSTEPS_H

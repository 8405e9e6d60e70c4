//===- GraphSteps.h - The nodes of a plan as launches ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the variant, the grid and the arguments of each node for a layout.
// The same steps become nodes of a CUDA graph, or plain launches in a capture
// by the caller.
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

/// The launches of one node.
struct Step {
  bool loop = false; ///< a conditional WHILE node around `body`
  /// The kernel. For a loop: the kernel before it, which sets its iterations to
  /// 0. Its first argument is the condition's handle.
  Launch launch;
  Launch next; ///< for a loop: the kernel that ends an iteration
  /// More launches of a panel loop, for members of other size classes. They may
  /// run at the same time as `launch`.
  std::vector<Launch> further;
  std::vector<Step> body;
  std::vector<PlanEdge> edges; ///< of the body
  /// The step before whose end this step may start (a programmatic edge); -1:
  /// none.
  int overlaps = -1;
  /// Replaces `launch` in a capture by the caller: the loop in one cooperative
  /// launch, or a variant with scalars by address.
  std::optional<Launch> captured;
};

/// Chooses variants, then builds steps. Each prepare() uses a new object.
class StepBuilder {
public:
  StepBuilder(const Layout &layout, ContextPtr context, KernelUnits &kernels)
      : layout(layout), plan(layout.plan()), context(std::move(context)),
        kernels(kernels) {}

  /// Chooses the variant of every node. Fails if a node has none that can run
  /// on this device.
  llvm::Error choose();

  /// Whether a chosen variant reads the tile descriptors of the table. Call
  /// choose() before.
  bool needsTileDescriptors(int table) const { return tileDescriptors[table]; }
  /// The number of blocks that divide each tile of the table. Call choose()
  /// before.
  int blocksPerTile(int table) const { return tileBlocks[table]; }
  /// The descriptors of the spans of copies, fills and loops. They have their
  /// final size after choose(), and their contents after build().
  const std::vector<char> &spanDescriptors() const { return spanBytes; }

  /// The addresses and values of arguments.
  struct Addresses {
    std::vector<DeviceTable> tables;
    std::vector<char *> scratch;
    char *spanDescriptors = nullptr;
    /// The values of the scalar slots, for scalars by value.
    const char *slotValues = nullptr;
  };
  /// The steps of the plan. Call choose() and Layout::place() before.
  llvm::Expected<std::vector<Step>> build(const Addresses &addresses);
  /// For each buffer, whether a replay reads its scalar slot (captured replays
  /// do not count). Call build() before.
  const std::vector<bool> &readsSlot() const { return slotReads; }

private:
  /// The launch of a panel loop for the members of a size class.
  struct PanelChoice {
    CUfunction function = nullptr;
    unsigned grid = 1, block = 1;
    int sharedBytes = 0;
    bool cooperative = false;
    int memberCount = 0;
    /// The indices of the members, in spanDescriptors(); none if they are all
    /// members.
    std::optional<size_t> membersOffset;
  };
  using PanelChoices = llvm::SmallVector<PanelChoice>;
  struct Choice {
    /// The launches of a panel loop; empty for other forms.
    PanelChoices panels;
    const PlanVariant *replayed = nullptr; ///< null: no kernel (copy, fill)
    /// For a capture by the caller. Null for a loop without a cooperative
    /// variant, and for the body of a loop.
    const PlanVariant *captured = nullptr;
    unsigned grid = 1, capturedGrid = 1;
    size_t spansOffset = 0; ///< in spanDescriptors()
    int spanCount = 0;
    int64_t chunks = 0;
  };

  /// The size classes of a panel loop for the bound extents; nothing if the
  /// loop has no panel form, or none for these extents on this device.
  std::optional<std::vector<PanelMembers>>
  sizeClassesOf(const PlanNode &node) const;
  llvm::Error compile();
  llvm::Error chooseIn(const PlanGraph &graph, bool inLoop);
  llvm::Error chooseVariants(const PlanNode &node, Choice &choice, bool inLoop);
  /// The launches of a panel loop; none if it cannot run on this device.
  llvm::Expected<PanelChoices> choosePanels(const PlanNode &node);
  /// The number of clusters, each of the blocks of a row, that fit on the
  /// device at once.
  llvm::Expected<int> residentClusters(const PlanNode &node,
                                       const PlanVariant &variant);
  /// The launch for the members of one size class, or nothing.
  llvm::Expected<std::optional<PanelChoice>>
  choosePanel(const PlanNode &node, const PanelMembers &part);
  bool ownsScalars(const PlanNode &node) const;
  /// Whether the conditions of a variant hold for a replay, or for a capture.
  bool holds(const PlanNode &node, const PlanVariant &variant,
             bool forCapture) const;
  /// Blocks of a row wait for each other. If the device has too little room for
  /// them, one block has the whole row.
  llvm::Error limitRowParts();
  /// The kernel of a variant, whose parameters are those of the node.
  llvm::Expected<CUfunction> functionOf(const PlanNode &node,
                                        const PlanVariant &variant);
  /// The blocks of a variant that fit on the device at the same time.
  llvm::Expected<int64_t> residentBlocks(const PlanNode &node,
                                         const PlanVariant &variant);
  /// The grid of a variant, or 0 if the variant does not fit on this device.
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
  Launch panel(const PlanNode &node, const PanelChoice &choice,
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
  std::vector<int> tileBlocks; ///< of each table
  /// Of all nodes in plan order; those of a body follow their loop.
  std::vector<Choice> choices;
  std::vector<char> spanBytes;
  size_t nextChoice = 0;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_GRAPHSTEPS_H

//===- FusedConfigureLaunches.cpp - how sweeps and loops are launched -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions depend on the buffers that sweeps read and write. Sizes are
// known only when buffers are bound, so the decisions that depend on them are
// bounds, which the plan's conditions state.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/KernelSignature.h"
#include "codegen/layout/PanelLayout.h"
#include "codegen/layout/ProgramNodes.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "passes/Fusion.h"
#include "passes/Occupancy.h"
#include "passes/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDCONFIGURELAUNCHES
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

namespace {
class Launches {
public:
  Launches(const Buffers &buffers, bool remarks)
      : buffers(buffers), remarks(remarks) {
    for (const Buffer &buffer : buffers.all())
      if (foreach::isList(buffer.type))
        highestRank = std::max(highestRank, foreach::rankOf(buffer.type));
  }
  LogicalResult configure(const ProgramNodes &nodes, bool inLoop);

private:
  LogicalResult configure(SweepOp sweep, bool isDependent,
                          const llvm::DenseSet<int> &written);
  std::string whyNotOwnLaunch(SweepOp sweep, const SweepLayout &layout);
  void configure(LoopOp loop);
  std::string whyNotCooperative(LoopOp loop);

  const Buffers &buffers;
  bool remarks;
  int64_t highestRank = 0; ///< of the lists of the program
};
} // namespace

/// Blocks per multiprocessor of a cooperative launch.
static constexpr int64_t kCooperativeBlocks = 2;

/// The number of tiles up to which a loop runs in one launch: a few for each
/// resident block.
static constexpr int64_t kCooperativeTiles = 1 << 13;

/// The percentage of the L2 cache that the elements of a sweep may take for the
/// evict-first variant. With more elements, this variant evicts data that would
/// otherwise stay. Measured with 60 MB of L2: faster for 57 MB of elements,
/// slower for 83 MB.
static constexpr int64_t kEvictFirstPercent = 97;
/// The same for a sweep that begins with elements which the sweep before it
/// left in the cache: replaced elements would evict them. Measured: faster, or
/// as fast, for up to 128 MB.
static constexpr int64_t kEvictFirstPercentOfReversed = 225;

/// The least elements of a sweep that takes distances, and the most operands
/// with distances: a launch takes 480, for fewer members if there are more
/// operands. For fewer elements, a kernel writes new addresses into descriptors
/// in about 5 us, and a step of small members takes up to 1 us longer with
/// distances.
static constexpr int64_t kDistanceElements = 1 << 24;
static constexpr size_t kDistanceOperands = 4;

/// The blocks of an entry that processes elements as vectors. Measured: as fast
/// as five or faster, also if elements have divisions and roots. If a thread
/// then spills registers, the entry is compiled for fewer.
static constexpr int64_t kVectorBlocks = 6;

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// Whether the sweep has an entry that takes distances.
static bool canTakeDistances(const SweepLayout &layout) {
  return !layout.distanceSlots.empty() &&
         layout.distanceSlots.size() <= kDistanceOperands &&
         KernelSignature::of(layout).arguments.size() <=
             runtime::kMostArgumentsBesideDistances;
}

/// The variants of a sweep. In a loop there is only one, by address, because a
/// launch in a loop has the same parameters in every step.
static SmallVector<VariantAttr> variantsOf(SweepOp sweep,
                                           const SweepLayout &layout) {
  MLIRContext *context = sweep.getContext();
  int64_t blocks = residentBlocks(sweep, layout, ScalarPassing::value);
  auto byAddress = VariantAttr::get(
      context, ScalarPassing::address,
      residentBlocks(sweep, layout, ScalarPassing::address),
      /*evictFirstL2Percent=*/0, /*maxColumns=*/0,
      /*mostlyOver=*/0, /*maxParts=*/0, /*cluster=*/false, /*minElements=*/0,
      /*mostlyMultiplesOf=*/0);
  if (isa<LoopOp>(sweep->getParentOp()))
    return {byAddress};
  bool replaces =
      llvm::any_of(layout.segments, [](const SegmentLayout &segment) {
        return llvm::any_of(segment.operands, [](const OperandSlot &slot) {
          return slot.written && slot.index == kI;
        });
      });
  SmallVector<VariantAttr> variants;
  auto addByValue = [&](bool evictFirst) {
    variants.push_back(
        VariantAttr::get(context, ScalarPassing::value, blocks,
                         !evictFirst           ? 0
                         : sweep.getReversed() ? kEvictFirstPercentOfReversed
                                               : kEvictFirstPercent,
                         /*maxColumns=*/0, /*mostlyOver=*/0,
                         /*maxParts=*/0, /*cluster=*/false, /*minElements=*/0,
                         /*mostlyMultiplesOf=*/0));
  };
  if (layout.rank != 2 && replaces)
    addByValue(/*evictFirst=*/true);
  // The entry for pairs of rows has fewer blocks. A narrow row has one thread
  // in every entry, so a list of these is faster in the others.
  if (hasPairedEntry(sweep, layout))
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, pairedBlocks(sweep, layout),
        /*evictFirstL2Percent=*/0, kPairedColumns,
        /*mostlyOver=*/kNarrowItems, /*maxParts=*/0, /*cluster=*/false,
        /*minElements=*/0,
        /*mostlyMultiplesOf=*/0));
  // An entry for wider rows has fewer blocks, so narrower rows take longer in
  // it. One warp has rows of up to kWarpColumns columns in every entry.
  for (int64_t columns : layout.warpEntries) {
    int64_t ofWarps = warpBlocks(sweep, layout, columns);
    bool isFewer =
        ofWarps < heldBlocks(sweep, layout, layout.heldEntries.front());
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, ofWarps, /*evictFirstL2Percent=*/0,
        columns, /*mostlyOver=*/isFewer ? kWarpColumns : 0, /*maxParts=*/0,
        /*cluster=*/false, /*minElements=*/0,
        /*mostlyMultiplesOf=*/0));
  }
  int64_t before = 0;
  for (int64_t columns : layout.heldEntries) {
    int64_t held = heldBlocks(sweep, layout, columns);
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, held, /*evictFirstL2Percent=*/0, columns,
        /*mostlyOver=*/held < blocks ? before : 0, /*maxParts=*/0,
        /*cluster=*/false, /*minElements=*/0,
        /*mostlyMultiplesOf=*/0));
    before = columns;
  }
  if (layout.longParts)
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, longPartBlocks(sweep, layout),
        /*evictFirstL2Percent=*/0, /*maxColumns=*/0,
        runtime::mostShortColumns(layout.wholeColumns), /*maxParts=*/0,
        /*cluster=*/false, /*minElements=*/0,
        /*mostlyMultiplesOf=*/0));
  if (exchangesInClusters(sweep, layout))
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, clusterBlocks(sweep, layout),
        /*evictFirstL2Percent=*/0, /*maxColumns=*/0, /*mostlyOver=*/0,
        runtime::kMostClusterParts, /*cluster=*/true, /*minElements=*/0,
        /*mostlyMultiplesOf=*/0));
  if (layout.heldParts && !layout.longParts)
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, partBlocks(sweep, layout),
        /*evictFirstL2Percent=*/0, /*maxColumns=*/0, /*mostlyOver=*/0,
        runtime::mostRowParts(layout.wholeColumns), /*cluster=*/false,
        /*minElements=*/0,
        /*mostlyMultiplesOf=*/0));
  if (canTakeDistances(layout))
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, blocks, /*evictFirstL2Percent=*/0,
        /*maxColumns=*/0, /*mostlyOver=*/0, /*maxParts=*/0, /*cluster=*/false,
        kDistanceElements, /*mostlyMultiplesOf=*/0));
  if (hasVectors(sweep, layout))
    variants.push_back(VariantAttr::get(
        context, ScalarPassing::value, kVectorBlocks, /*evictFirstL2Percent=*/0,
        /*maxColumns=*/0, /*mostlyOver=*/0, /*maxParts=*/0, /*cluster=*/false,
        /*minElements=*/0, kAdjacentInRow));
  addByValue(/*evictFirst=*/false);
  if (llvm::any_of(layout.scalars,
                   [](const ScalarSlot &slot) { return slot.isByValue; }))
    variants.push_back(byAddress);
  return variants;
}

/// When a block takes the ticket of its member. If the completion of the member
/// uses no results of elements, a block takes its ticket early, so the last
/// block does not delay the end of a long sweep.
static Arrival arrivalOf(const SegmentLayout &segment) {
  return !segment.endsMembers      ? Arrival::none
         : segment.endsAfterStores ? Arrival::late
                                   : Arrival::early;
}

/// The reason why the blocks of tiles end the members of a sweep with late
/// arrivals, or an empty string if a launch of its own does. With that launch,
/// no block of a tile waits until its stores are visible to other blocks, for
/// which it keeps its place on the multiprocessor for about 1.4 us more. For
/// members of one tile, blocks wait for nothing, and the launch would take
/// longer; sizes are not known here, but vectors beside matrices are short.
std::string Launches::whyNotOwnLaunch(SweepOp sweep,
                                      const SweepLayout &layout) {
  if (isa<LoopOp>(sweep->getParentOp()))
    return "it is in a loop";
  if (sweep.getWhere())
    return "it skips members";
  int64_t visited = 0;
  for (const SegmentLayout &segment : layout.segments)
    for (const OperandSlot &slot : segment.operands)
      if (slot.index == kI || slot.index == kIJ)
        visited = std::max(visited, foreach::rankOf(buffers[slot.buffer].type));
  return visited == 0            ? "it visits no elements"
         : visited < highestRank ? "vectors beside matrices are short"
                                 : "";
}

/// A block loads elements before it waits if no earlier operation writes them.
static Wait waitOf(SweepOp sweep, const SweepLayout &layout, unsigned segment,
                   const llvm::DenseSet<int> &written) {
  bool readsWritten = llvm::any_of(
      layout.segments[segment].operands, [&](const OperandSlot &slot) {
        return !isMemberIndex(slot.index) && written.contains(slot.buffer);
      });
  return sweep.getScheduleAttr().getKind() == ScheduleKind::stream &&
                 layout.whereOperand.empty() && !readsWritten
             ? Wait::after_loads
             : Wait::first;
}

/// `written` has the buffers that operations before the sweep write.
LogicalResult Launches::configure(SweepOp sweep, bool isDependent,
                                  const llvm::DenseSet<int> &written) {
  auto layout = SweepLayout::compute(sweep, buffers);
  if (failed(layout))
    return failure();
  SmallVector<Arrival> arrivals;
  SmallVector<Wait> waits;
  for (auto [s, segment] : llvm::enumerate(layout->segments)) {
    arrivals.push_back(arrivalOf(segment));
    if (isDependent)
      waits.push_back(waitOf(sweep, *layout, s, written));
  }
  bool arrivesLate =
      llvm::is_contained(arrivals, Arrival::late) &&
      (sweep.getScheduleAttr().getKind() == ScheduleKind::stream ||
       mayEndInOwnLaunch(sweep));
  std::string whyNot = arrivesLate ? whyNotOwnLaunch(sweep, *layout) : "";
  if (arrivesLate && whyNot.empty())
    for (Arrival &arrival : arrivals)
      if (arrival != Arrival::none)
        arrival = Arrival::own_launch;
  sweep.setLaunchAttr(LaunchAttr::get(
      sweep.getContext(), variantsOf(sweep, *layout), arrivals, waits));
  VariantAttr first = sweep.getLaunchAttr().getVariants()[0];
  if (remarks && first.isEvictFirst())
    mlir::emitRemark(sweep.getLoc())
        << nameForRemarks(sweep)
        << " has an evict-first variant: replaced elements leave the cache "
           "first if all elements take at most "
        << first.getEvictFirstL2Percent() << " % of the L2 cache";
  if (!remarks || !arrivesLate)
    return success();
  if (whyNot.empty())
    mlir::emitRemark(sweep.getLoc())
        << nameForRemarks(sweep)
        << " has its ends in a launch of its own, so no block of a tile "
           "waits for its stores";
  else
    mlir::emitRemark(sweep.getLoc())
        << nameForRemarks(sweep)
        << " ends its members in the last blocks of their tiles: " << whyNot;
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The reason why one cooperative launch cannot run the whole loop, or an empty
/// string. The conditions: all sweeps have one block size, no value is copied
/// between iterations, and the flags of members are those of a sweep's `where`,
/// in the buffer that the next iteration reads.
std::string Launches::whyNotCooperative(LoopOp loop) {
  Block &body = loop.getBody().front();
  auto sweeps = body.getOps<SweepOp>();
  for (Operation &op : body.without_terminator()) {
    auto sweep = dyn_cast<SweepOp>(op);
    if (!sweep)
      return "it contains another loop";
    if (sweep.getScheduleAttr().getThreads() !=
        (*sweeps.begin()).getScheduleAttr().getThreads())
      return "its sweeps have different block sizes";
  }
  if (sweeps.empty())
    return "it has no sweep";
  if (!carriesInPlace(loop, buffers))
    return "an iteration ends with copies";
  Value active = loop.getActive();
  if (active && (buffers.of(active) != buffers.of(loop.getYield().getMore()) ||
                 llvm::none_of(sweeps, [&](SweepOp sweep) {
                   return sweep.getWhere() == active;
                 })))
    return "no sweep uses the flags of its members";
  return {};
}

void Launches::configure(LoopOp loop) {
  CooperativeAttr cooperative;
  std::string why = whyNotCooperative(loop);
  if (why.empty()) {
    auto sweep = *loop.getBody().front().getOps<SweepOp>().begin();
    cooperative = CooperativeAttr::get(loop.getContext(),
                                       sweep.getScheduleAttr().getThreads(),
                                       kCooperativeBlocks, kCooperativeTiles);
  }
  loop.setCooperativeAttr(cooperative);
  loop.setPanels(PanelLayout::compute(loop, buffers).has_value());
  if (!remarks)
    return;
  if (cooperative)
    mlir::emitRemark(loop.getLoc())
        << "'" << loop.getName().value_or("loop")
        << "' has the cooperative form up to " << kCooperativeTiles << " tiles";
  else
    mlir::emitRemark(loop.getLoc()) << "'" << loop.getName().value_or("loop")
                                    << "' has no cooperative form: " << why;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// A sweep that depends on the previous sweep, and on nothing else, may begin
/// before the previous sweep ends. Not in a loop: the body of a conditional
/// node has no programmatic edges.
LogicalResult Launches::configure(const ProgramNodes &nodes, bool inLoop) {
  llvm::DenseSet<int> written;
  for (auto [number, node] : llvm::enumerate(nodes.nodes)) {
    if (node.kind == ProgramNodeKind::sweep) {
      bool isDependent = !inLoop && nodes.followsOneSweep(number);
      if (failed(configure(cast<SweepOp>(node.op), isDependent, written)))
        return failure();
    } else if (node.kind == ProgramNodeKind::loop) {
      auto loop = cast<LoopOp>(node.op);
      if (failed(configure(*node.body, /*inLoop=*/true)))
        return failure();
      configure(loop);
    }
    if (node.op)
      for (Value result : node.op->getResults())
        written.insert(buffers.of(result));
  }
  return success();
}

namespace {
struct FusedConfigureLaunches
    : heddle::impl::FusedConfigureLaunchesBase<FusedConfigureLaunches> {
  using FusedConfigureLaunchesBase::FusedConfigureLaunchesBase;
  void runOnOperation() override {
    auto buffers = Buffers::read(getOperation());
    if (failed(buffers))
      return signalPassFailure();
    auto nodes = ProgramNodes::of(getOperation().getBody().front(), *buffers);
    if (failed(nodes) ||
        failed(Launches(*buffers, remarks).configure(*nodes, /*inLoop=*/false)))
      signalPassFailure();
  }
};
} // namespace

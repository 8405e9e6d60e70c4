//===- FusedConfigureLaunches.cpp - how sweeps and loops are launched -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions depend on the buffers that sweeps read and write.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/PanelLayout.h"
#include "codegen/layout/ProgramNodes.h"
#include "dialect/Bindings.h"
#include "passes/Occupancy.h"
#include "passes/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDCONFIGURELAUNCHES
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

/// Blocks per multiprocessor of a cooperative launch.
static constexpr int64_t kCooperativeBlocks = 2;

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// The variants of a sweep. In a loop there is only one, by address, because a
/// launch in a loop has the same parameters in every step.
static SmallVector<VariantAttr> variantsOf(SweepOp sweep,
                                           const SweepLayout &layout) {
  MLIRContext *context = sweep.getContext();
  int64_t blocks = residentBlocks(sweep, layout);
  // Loading scalars takes registers; parameters take none.
  int64_t loading = std::max<int64_t>(1, blocks - 1);
  auto byAddress =
      VariantAttr::get(context, ScalarPassing::address, loading, false);
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
        VariantAttr::get(context, ScalarPassing::value, blocks, evictFirst));
  };
  if (layout.rank != 2 && replaces)
    addByValue(/*evictFirst=*/true);
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
static LogicalResult configure(SweepOp sweep, bool isDependent,
                               const llvm::DenseSet<int> &written,
                               const Buffers &buffers) {
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
  sweep.setLaunchAttr(LaunchAttr::get(
      sweep.getContext(), variantsOf(sweep, *layout), arrivals, waits));
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Whether one cooperative launch can run the whole loop: all sweeps have one
/// block size, no value is copied between iterations, and the flags of members
/// are those of a sweep's `where`, in the buffer that the next iteration reads.
static bool canCooperate(LoopOp loop, const Buffers &buffers) {
  Block &body = loop.getBody().front();
  auto sweeps = body.getOps<SweepOp>();
  for (Operation &op : body.without_terminator()) {
    auto sweep = dyn_cast<SweepOp>(op);
    if (!sweep || sweep.getScheduleAttr().getThreads() !=
                      (*sweeps.begin()).getScheduleAttr().getThreads())
      return false;
  }
  if (sweeps.empty() || !carriesInPlace(loop, buffers))
    return false;
  Value active = loop.getActive();
  return !active ||
         (buffers.of(active) == buffers.of(loop.getYield().getMore()) &&
          llvm::any_of(sweeps, [&](SweepOp sweep) {
            return sweep.getWhere() == active;
          }));
}

static void configure(LoopOp loop, const Buffers &buffers) {
  CooperativeAttr cooperative;
  if (canCooperate(loop, buffers)) {
    auto sweep = *loop.getBody().front().getOps<SweepOp>().begin();
    cooperative = CooperativeAttr::get(loop.getContext(),
                                       sweep.getScheduleAttr().getThreads(),
                                       kCooperativeBlocks);
  }
  loop.setCooperativeAttr(cooperative);
  loop.setPanels(PanelLayout::compute(loop, buffers).has_value());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// A sweep that depends on the previous sweep, and on nothing else, may begin
/// before the previous sweep ends. Not in a loop: the body of a conditional
/// node has no programmatic edges.
static LogicalResult configure(const ProgramNodes &nodes, bool inLoop,
                               const Buffers &buffers) {
  llvm::DenseSet<int> written;
  for (auto [number, node] : llvm::enumerate(nodes.nodes)) {
    if (node.kind == ProgramNodeKind::sweep) {
      bool isDependent = !inLoop && nodes.followsOneSweep(number);
      if (failed(
              configure(cast<SweepOp>(node.op), isDependent, written, buffers)))
        return failure();
    } else if (node.kind == ProgramNodeKind::loop) {
      auto loop = cast<LoopOp>(node.op);
      if (failed(configure(*node.body, /*inLoop=*/true, buffers)))
        return failure();
      configure(loop, buffers);
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
  void runOnOperation() override {
    auto buffers = Buffers::read(getOperation());
    if (failed(buffers))
      return signalPassFailure();
    auto nodes = ProgramNodes::of(getOperation().getBody().front(), *buffers);
    if (failed(nodes) || failed(configure(*nodes, /*inLoop=*/false, *buffers)))
      signalPassFailure();
  }
};
} // namespace

//===- FusedConfigureLaunches.cpp - how sweeps and loops are launched -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These decisions depend on the buffers that a sweep reads and writes.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/PanelLayout.h"
#include "codegen/layout/Steps.h"
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

/// Blocks of the cooperative launch of a loop on a multiprocessor.
static constexpr int64_t kCooperativeBlocks = 2;

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// The entry points of a sweep. In a loop there is one, by address: a launch
/// there has no parameters of its own from step to step.
static SmallVector<VariantAttr> variantsOf(SweepOp sweep,
                                           const SweepLayout &layout) {
  MLIRContext *context = sweep.getContext();
  int64_t blocks = residentBlocks(sweep, layout);
  // Loading scalars takes registers that passing them does not.
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
                   [](const ScalarSlot &slot) { return slot.isNumber; }))
    variants.push_back(byAddress);
  return variants;
}

/// A block takes its ticket before it computes elements if the end of the
/// member uses none of their results: the end of a long sweep is then not
/// delayed.
static Arrival arrivalOf(const SegmentLayout &segment) {
  return !segment.endsMembers      ? Arrival::none
         : segment.endsAfterStores ? Arrival::late
                                   : Arrival::early;
}

/// A block loads elements before it waits if nothing before it writes them.
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

/// Whether one cooperative launch can run the whole loop. Its sweeps have one
/// size of blocks. It finds the flags of members in the table of a sweep, in
/// the buffer that the next iteration reads. It has no copies between
/// iterations.
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

/// A sweep that depends on the sweep right before it, and on nothing else, may
/// begin before that one has ended. In a loop each launch of an iteration is a
/// node of a conditional graph, which has no such edges.
static LogicalResult configure(Block &block, const Buffers &buffers) {
  auto steps = Steps::of(block, buffers);
  if (failed(steps))
    return failure();
  bool inLoop = isa<LoopOp>(block.getParentOp());
  llvm::DenseSet<int> written;
  for (auto [number, step] : llvm::enumerate(steps->steps)) {
    if (step.kind == StepKind::sweep) {
      bool isDependent = !inLoop && steps->followsOneSweep(number);
      if (failed(configure(cast<SweepOp>(step.op), isDependent, written,
                           buffers)))
        return failure();
    } else if (step.kind == StepKind::loop) {
      auto loop = cast<LoopOp>(step.op);
      if (failed(configure(loop.getBody().front(), buffers)))
        return failure();
      configure(loop, buffers);
    }
    if (step.op)
      for (Value result : step.op->getResults())
        written.insert(buffers.of(result));
  }
  return success();
}

namespace {
struct FusedConfigureLaunches
    : heddle::impl::FusedConfigureLaunchesBase<FusedConfigureLaunches> {
  void runOnOperation() override {
    auto buffers = Buffers::read(getOperation());
    if (failed(buffers) ||
        failed(configure(getOperation().getBody().front(), *buffers)))
      signalPassFailure();
  }
};
} // namespace

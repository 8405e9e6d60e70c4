//===- FusedFlagMembers.cpp - flags for the members of a loop -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only a loop with a flag for every member can be a panel loop. In a loop of a
// given number of iterations, each member may have a flag that always holds.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/FusedPanelAnalysis.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/SweepBuilder.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDFLAGMEMBERS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::ListType;

/// The operation of an epilogue that computes the device scalar `value`; null
/// if no sweep does.
static Operation *epilogueOpOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto sweep = result ? dyn_cast<SweepOp>(result.getOwner()) : SweepOp();
  if (!sweep || isList(value.getType()))
    return nullptr;
  unsigned first = sweep.getNumResults() - sweep.getEpilogueResults().size();
  if (result.getResultNumber() < first)
    return nullptr;
  return sweep.getEpilogueYield()
      .getValues()[result.getResultNumber() - first]
      .getDefiningOp();
}

/// The only sweep of a loop whose flag always holds, if nothing but this flag
/// is the same for all members; null for other loops.
static SweepOp sweepToFlag(LoopOp loop) {
  YieldOp yield = loop.getYield();
  auto body = loop.getBody().front().without_terminator();
  if (loop.getActive() || loop.getInits().empty() ||
      !llvm::hasSingleElement(body))
    return {};
  auto sweep = dyn_cast<SweepOp>(*body.begin());
  if (!sweep || sweep.getNumSegments() != 1 ||
      sweep.getEpilogueResults().size() != 1 ||
      sweep.getEpilogueResults().front() != yield.getMore() ||
      sweep.getDomainRank(0) != 2)
    return {};
  if (!llvm::all_of(yield.getValues().getTypes(), isList))
    return {};
  Operation *flag = epilogueOpOf(yield.getMore());
  return flag && matchPattern(flag, m_One()) ? sweep : SweepOp();
}

/// Replaces the only sweep of `loop` and its flag.
static void flagMembers(LoopOp loop) {
  MLIRContext *context = loop.getContext();
  OpBuilder builder(context);
  Type flags = ListType::get(0, builder.getI1Type());
  Block &body = loop.getBody().front();
  auto sweep = cast<SweepOp>(body.front());
  Value active = body.addArgument(flags, namedLoc(context, "active"));
  SweepBuilder parts(context, active);
  auto refs = parts.append(sweep);
  parts.drop(refs.back());
  OpBuilder inner = parts.at(0);
  Value holds =
      arith::ConstantOp::create(inner, sweep.getLoc(), inner.getBoolAttr(true));
  refs.back() = {
      0, parts.addResult(0, holds, flags, nameOf(sweep.getResults().back()))};
  builder.setInsertionPoint(sweep);
  parts.build(builder, sweep.getLoc());
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), refs))
    result.replaceAllUsesWith(parts.result(ref));
  sweep.erase();
}

/// A loop before `loop` that computes the same, with a flag for every member.
static LoopOp withFlags(LoopOp loop) {
  OpBuilder builder(loop);
  SmallVector<Type> types(loop.getResultTypes());
  types.back() = ListType::get(0, builder.getI32Type());
  auto flagged = LoopOp::create(builder, loop.getLoc(), types, loop.getInits(),
                                loop.getLimit());
  IRMapping mapping;
  loop.getBody().cloneInto(&flagged.getBody(), mapping);
  copyNames(loop.getResults(), flagged.getResults());
  flagMembers(flagged);
  return flagged;
}

/// The number of iterations of a loop whose flag always holds, computed before
/// `place`. A loop with flags of members counts for each of them.
static Value countOf(LoopOp loop, Operation *place) {
  Value limit = loop.getLimit();
  APInt constant;
  if (Operation *op = epilogueOpOf(limit);
      op && matchPattern(op, m_ConstantInt(&constant)) &&
      !constant.isNegative())
    return limit;
  OpBuilder builder(place);
  SweepBuilder parts(loop.getContext());
  Value list = loop.getInits().front();
  parts.bind(parts.addSegment(), list, defaultIndex(list.getType()),
             foreach::computeType(foreach::storageType(list.getType())),
             nameOf(list));
  StringRef name = nameOf(loop.getIterations());
  Value bound = parts.bindEpilogue(limit, builder.getI32Type(), nameOf(limit));
  OpBuilder inner = parts.atEpilogue();
  Value zero = arith::ConstantOp::create(inner, loop.getLoc(),
                                         inner.getI32IntegerAttr(0));
  Value count = arith::MaxSIOp::create(inner, loop.getLoc(), bound, zero);
  parts.addEpilogueResult(count, limit.getType(),
                          name.empty() ? "iterations" : name);
  return parts.build(builder, loop.getLoc()).getResult(0);
}

namespace {
struct FusedFlagMembers : heddle::impl::FusedFlagMembersBase<FusedFlagMembers> {
  using FusedFlagMembersBase::FusedFlagMembersBase;

  void runOnOperation() override {
    SmallVector<LoopOp> loops;
    getOperation().walk([&](LoopOp loop) {
      if (sweepToFlag(loop))
        loops.push_back(loop);
    });
    llvm::for_each(loops, [&](LoopOp loop) { visit(loop); });
  }

  void visit(LoopOp loop) {
    LoopOp flagged = withFlags(loop);
    std::string why;
    auto sweep = cast<SweepOp>(flagged.getBody().front().front());
    bool isPanel = PanelAnalysis::of(sweep, why).has_value();
    if (remarks)
      mlir::emitRemark(sweep.getLoc())
          << nameForRemarks(sweep)
          << (isPanel ? " gets a flag for every member, so its loop can have "
                        "the schedule 'panel'"
                      : " gets no flag for every member: it would still not "
                        "have the schedule 'panel', because " +
                            why);
    if (!isPanel)
      return flagged.erase();
    ++numFlagged;
    if (!loop.getIterations().use_empty())
      loop.getIterations().replaceAllUsesWith(countOf(loop, flagged));
    for (auto [result, by] : llvm::zip_equal(loop.getResults().drop_back(),
                                             flagged.getResults().drop_back()))
      result.replaceAllUsesWith(by);
    loop.erase();
  }
};
} // namespace

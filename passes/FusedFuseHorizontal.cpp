//===- FusedFuseHorizontal.cpp - independent sweeps become segments -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins sweeps at the same depth of dependences first, so that chains over
// different lists are joined stage by stage.
//
//===----------------------------------------------------------------------===//

#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDFUSEHORIZONTAL
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::storageType;

/// Sweeps of one class can run in one launch: matrices with row or column
/// values, other matrices, and the rest.
static int rankClass(SweepOp sweep) {
  if (sweep.getDomainRank(0) != 2)
    return 0;
  return needsRows(sweep) ? 2 : 1;
}

static SweepOp join(SweepOp first, SweepOp second) {
  SweepBuilder parts(first.getContext(), first.getWhere());
  auto firstPlaces = parts.append(first);
  unsigned before = parts.getNumSegments();
  // The segments of the second sweep read no results of the first; its epilogue
  // may.
  SmallVector<SweepBuilder::Place> secondPlaces;
  for (unsigned s = 0; s < second.getNumSegments(); ++s) {
    unsigned number = parts.addSegment();
    Block &body = second.getSegmentBlock(s);
    IRMapping mapping;
    for (int pass = 0; pass < 2; ++pass)
      for (auto [argument, operand, index] :
           llvm::zip_equal(body.getArguments(), second.getSegmentInputs(s),
                           second.getSegmentIndices(s)))
        mapping.map(argument, parts.bind(number, operand, index,
                                         argument.getType(), nameOf(argument)));
    OpBuilder builder = parts.at(number);
    cloneBody(builder, body, mapping);
    for (auto [value, result] :
         llvm::zip_equal(second.getSegmentYield(s).getValues(),
                         second.getSegmentResults(s)))
      secondPlaces.push_back(
          {static_cast<int>(before + s),
           parts.addResult(number, mapping.lookup(value), result.getType(),
                           nameOf(result))});
  }
  parts.appendEpilogue(
      second, secondPlaces, [&](Value operand, Type bound) -> Value {
        if (operand.getDefiningOp() != first.getOperation())
          return {};
        auto place = firstPlaces[cast<OpResult>(operand).getResultNumber()];
        if (place.segment >= 0)
          return parts.listValue(place.segment, place.result, bound,
                                 nameOf(operand));
        OpBuilder builder = parts.atEpilogue();
        return convertThrough(builder, operand.getLoc(), parts.yielded(place),
                              storageType(operand.getType()), bound);
      });
  for (auto [result, place] : llvm::zip_equal(first.getResults(), firstPlaces))
    if (llvm::all_of(result.getUsers(), [&](Operation *user) {
          return user == second.getOperation();
        }))
      parts.drop(place);
  makeAdjacent(first, second);
  OpBuilder builder(second);
  SweepOp joined = parts.build(builder, second.getLoc());
  for (auto [sweep, places] :
       {std::pair(second, &secondPlaces), std::pair(first, &firstPlaces)}) {
    for (auto [result, place] : llvm::zip_equal(sweep.getResults(), *places))
      if (Value value = parts.result(place))
        result.replaceAllUsesWith(value);
    sweep.erase();
  }
  return joined;
}

namespace {
struct FusedFuseHorizontal
    : heddle::impl::FusedFuseHorizontalBase<FusedFuseHorizontal> {
  using FusedFuseHorizontalBase::FusedFuseHorizontalBase;

  void runOnOperation() override {
    forEachBlock(getOperation(), [&](Block &block) {
      while (joinOne(block)) {
      }
    });
    cleanBodies(getOperation());
    getOperation().walk([](SweepOp sweep) { dropUnused(sweep); });
  }

  bool joinOne(Block &block);
};
} // namespace

/// The number of sweeps and loops before each operation in its longest chain of
/// dependences.
static llvm::DenseMap<Operation *, int> depths(Block &block) {
  llvm::DenseMap<Operation *, int> result;
  for (Operation &op : block)
    for (Operation *user : op.getUsers())
      if (Operation *next = block.findAncestorOpInBlock(*user)) {
        // An epilogue may read results of a sweep at the same depth.
        auto from = dyn_cast<SweepOp>(op);
        auto to = dyn_cast<SweepOp>(next);
        int step = from && to && !segmentsRead(to, from) ? 0 : 1;
        result[next] = std::max(result[next], result[&op] + step);
      }
  return result;
}

bool FusedFuseHorizontal::joinOne(Block &block) {
  SmallVector<SweepOp> sweeps = sweepsOf(block);
  auto depth = depths(block);
  for (bool sameDepth : {true, false})
    for (size_t b = 1; b < sweeps.size(); ++b)
      for (size_t a = 0; a < b; ++a) {
        SweepOp first = sweeps[a], second = sweeps[b];
        if ((depth.lookup(first) == depth.lookup(second)) != sameDepth)
          continue;
        if (rankClass(first) != rankClass(second) ||
            first.getWhere() != second.getWhere() ||
            segmentsRead(second, first) || dependsIndirectly(second, first))
          continue;
        ++numJoined;
        if (remarks)
          mlir::emitRemark(second.getLoc())
              << nameForRemarks(first) << " joined to "
              << nameForRemarks(second)
              << " as a segment: independent, saves a sweep";
        join(first, second);
        return true;
      }
  return false;
}

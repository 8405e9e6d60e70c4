//===- FusedFuseHorizontal.cpp - independent sweeps become segments -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins sweeps of equal depth in the dependence graph first, so that chains
// over different lists are joined sweep by sweep.
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

/// The rank class of a sweep: 2 for matrices visited by rows, 1 for matrices
/// visited as vectors, 0 for vectors and members.
static int rankClass(SweepOp sweep) {
  if (sweep.getDomainRank(0) != 2)
    return 0;
  return needsRows(sweep) ? 2 : 1;
}

static SweepOp join(SweepOp first, SweepOp second) {
  SweepBuilder parts(first.getContext(), first.getWhere());
  auto firstResults = parts.append(first);
  unsigned before = parts.getNumSegments();
  // Only the epilogue of the second sweep may read results of the first.
  SmallVector<SweepBuilder::ResultRef> secondResults;
  for (unsigned s = 0; s < second.getNumSegments(); ++s) {
    unsigned number = parts.addSegment();
    Block &body = second.getSegmentBlock(s);
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument.
    for (int repeat = 0; repeat < 2; ++repeat)
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
      secondResults.push_back(
          {static_cast<int>(before + s),
           parts.addResult(number, mapping.lookup(value), result.getType(),
                           nameOf(result))});
  }
  parts.appendEpilogue(
      second, secondResults, [&](Value operand, Type bound) -> Value {
        if (operand.getDefiningOp() != first.getOperation())
          return {};
        auto ref = firstResults[cast<OpResult>(operand).getResultNumber()];
        if (ref.segment >= 0)
          return parts.listValue(ref.segment, ref.result, bound,
                                 nameOf(operand));
        OpBuilder builder = parts.atEpilogue();
        return convertThrough(builder, operand.getLoc(), parts.yielded(ref),
                              storageType(operand.getType()), bound);
      });
  for (auto [result, ref] : llvm::zip_equal(first.getResults(), firstResults))
    if (llvm::all_of(result.getUsers(), [&](Operation *user) {
          return user == second.getOperation();
        }))
      parts.drop(ref);
  makeAdjacent(first, second);
  OpBuilder builder(second);
  SweepOp joined = parts.build(builder, second.getLoc());
  for (auto [sweep, refs] :
       {std::pair(second, &secondResults), std::pair(first, &firstResults)}) {
    for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), *refs))
      if (Value value = parts.result(ref))
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

/// The depth of each operation in the dependence graph.
static llvm::DenseMap<Operation *, int> depths(Block &block) {
  llvm::DenseMap<Operation *, int> result;
  for (Operation &op : block)
    for (Operation *user : op.getUsers())
      if (Operation *next = block.findAncestorOpInBlock(*user)) {
        // A dependence of the epilogue alone does not add depth.
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

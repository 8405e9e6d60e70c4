//===- Fusion.cpp - facts about sweeps for fusion -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The name of a sweep in remarks is the name of one of its results.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace heddle::fused {

bool needsRows(SweepOp sweep) {
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (sweep.getDomainRank(s) != 2)
      continue;
    auto levels = Levels::infer(sweep, s);
    if (failed(levels))
      continue;
    auto isRowOrColumn = [](Level level) {
      return level == Level::row || level == Level::column;
    };
    auto isRowOrColumnValue = [&](Value value) {
      return isRowOrColumn(levels->of(value).level);
    };
    Block &body = sweep.getSegmentBlock(s);
    if (llvm::any_of(body.getArguments(), isRowOrColumnValue))
      return true;
    for (Operation &op : body) {
      if (llvm::any_of(op.getResults(), isRowOrColumnValue))
        return true;
      // Only a sweep by rows has the number of rows.
      auto extent = dyn_cast<foreach::ExtentOp>(op);
      if (extent && extent.getAxis() != foreach::Axis::member)
        return true;
      // A reduction may also count rows or columns.
      if (auto reduce = dyn_cast<fused::ReduceOp>(op);
          reduce && isRowOrColumn(levels->countedBy(reduce)))
        return true;
    }
  }
  return false;
}

StringRef mainName(Operation *op) {
  StringRef best;
  int64_t bestRank = -1;
  for (Value result : op->getResults()) {
    StringRef name = nameOf(result);
    // Only the epilogue reads a result without uses.
    int64_t rank = result.use_empty() ? 0
                   : !foreach::isList(result.getType())
                       ? 1
                       : 2 + foreach::rankOf(result.getType());
    if (name.empty() || rank <= bestRank)
      continue;
    best = name;
    bestRank = rank;
  }
  return best;
}

std::string quoted(Value value) {
  StringRef name = nameOf(value);
  return name.empty() ? "a value" : ("'" + name + "'").str();
}

std::string nameForRemarks(SweepOp sweep) {
  StringRef name = mainName(sweep);
  return name.empty() ? "a sweep" : ("'" + name + "'").str();
}

static void visitBlock(Block &block, llvm::function_ref<void(Block &)> visit) {
  for (auto loop : llvm::make_early_inc_range(block.getOps<LoopOp>()))
    visitBlock(loop.getBody().front(), visit);
  visit(block);
}

void forEachBlock(ProgramOp program, llvm::function_ref<void(Block &)> visit) {
  visitBlock(program.getBody().front(), visit);
}

} // namespace heddle::fused

//===- Fusion.cpp - facts about sweeps for fusion -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are pure, so only dependences restrict their order.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace heddle::fused {

/// The operation of `block` that is or contains `op`.
static Operation *ancestorIn(Block *block, Operation *op) {
  return block->findAncestorOpInBlock(*op);
}

bool dependsDirectly(Operation *to, Operation *from) {
  for (Operation *user : from->getUsers())
    if (ancestorIn(from->getBlock(), user) == to)
      return true;
  return false;
}

bool dependsIndirectly(Operation *to, Operation *from) {
  Block *block = from->getBlock();
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> work;
  auto push = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      if (Operation *next = ancestorIn(block, user);
          next && next->isBeforeInBlock(to) && seen.insert(next).second)
        work.push_back(next);
  };
  push(from);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (dependsDirectly(to, op))
      return true;
    push(op);
  }
  return false;
}

bool segmentsRead(SweepOp to, SweepOp from) {
  if (Value where = to.getWhere();
      where && where.getDefiningOp() == from.getOperation())
    return true;
  return llvm::any_of(to.getInputs(), [&](Value input) {
    return input.getDefiningOp() == from.getOperation();
  });
}

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
      // A reduction may also count rows or columns.
      if (auto reduce = dyn_cast<fused::ReduceOp>(op);
          reduce && isRowOrColumn(levels->countedBy(reduce)))
        return true;
    }
  }
  return false;
}

void makeAdjacent(Operation *first, Operation *second) {
  llvm::SmallPtrSet<Operation *, 16> following;
  following.insert(first);
  Operation *after = second;
  for (Operation *op = first->getNextNode(); op != second;) {
    Operation *next = op->getNextNode();
    bool follows = llvm::any_of(following, [&](Operation *earlier) {
      return dependsDirectly(op, earlier);
    });
    if (follows) {
      following.insert(op);
      op->moveAfter(after);
      after = op;
    }
    op = next;
  }
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

SmallVector<SweepOp> sweepsOf(Block &block) {
  return llvm::to_vector(block.getOps<SweepOp>());
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

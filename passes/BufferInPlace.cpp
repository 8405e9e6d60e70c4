//===- BufferInPlace.cpp - results that replace operands ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result may take the buffer of an operand if no element is overwritten
// before its last use.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "passes/BufferAssigner.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;

void BufferAssigner::number(Block &block) {
  for (Operation &op : block) {
    begins[&op] = position++;
    if (auto loop = dyn_cast<LoopOp>(op))
      number(loop.getBody().front());
    ends[&op] = position++;
  }
}

/// The position of the last operation that reads `value`. A loop reads its
/// operands, and the values that its body uses, until the loop ends.
int BufferAssigner::lastUse(Value value) const {
  Block *block = value.getParentBlock();
  int last = value.getDefiningOp() ? endOf(value.getDefiningOp()) : -1;
  for (Operation *user : value.getUsers())
    if (Operation *op = block->findAncestorOpInBlock(*user))
      last = std::max(last, endOf(op));
  return last;
}

const BufferAssigner::Segment &BufferAssigner::segmentOf(SweepOp sweep,
                                                         unsigned number) {
  auto &segment = segments[{sweep, number}];
  if (!segment) {
    segment = std::make_unique<Segment>();
    segment->rank = sweep.getDomainRank(number);
    segment->levels = Levels::infer(sweep, number);
    segment->usedByElements = backwardSlice(elementResults(sweep, number));
  }
  return *segment;
}

/// Whether `result` of a sweep may overwrite the operand `use` of the sweep:
/// each element of the result depends on the same element of the operand only.
bool BufferAssigner::mayOverwrite(OpResult result, OpOperand &use,
                                  std::string *why) {
  auto sweep = cast<SweepOp>(result.getOwner());
  auto no = [&](StringRef reason) {
    if (why)
      *why = reason.str();
    return false;
  };
  unsigned number = use.getOperandNumber();
  // Blocks that share rows may still run when the member or the list is
  // complete.
  bool shared = sweep.getSchedule() && sweep.getSchedule()->getColumns();
  auto isReadLate = [&](unsigned segment, unsigned operand) {
    Value bound = sweep.getSegmentBlock(segment).getArgument(operand);
    return shared && segmentOf(sweep, segment).usedByElements.contains(bound);
  };
  constexpr StringRef late =
      "blocks that share rows may still read the old value when a member is "
      "complete";
  // The epilogue writes device scalars after all members are complete, and
  // reads its operands first.
  if (!isList(result.getType())) {
    if (number >= sweep.getInputs().size())
      return true;
    unsigned segment = sweep.getSegmentOfInput(number);
    unsigned first = sweep.getSegmentInputs(segment).getBeginOperandIndex();
    return !isReadLate(segment, number - first) || no(late);
  }
  if (number >= sweep.getInputs().size()) {
    // All blocks of a member read `where` before the last block writes.
    return sweep.getNumSegments() == 1 ||
           no("other segments read the flags, too");
  }
  unsigned segment = sweep.getSegmentOfInput(number);
  unsigned firstInput = sweep.getSegmentInputs(segment).getBeginOperandIndex();
  unsigned position = result.getResultNumber();
  if (sweep.getSegmentOfResult(position) != segment)
    return no("another segment reads the old value");
  int32_t index = sweep.getIndices()[number];
  // A vector with a recorded entry may overwrite only its previous version.
  auto record = sweep.getRecord(position);
  Value bound = sweep.getSegmentBlock(segment).getArgument(number - firstInput);
  if (record || isEntryIndex(index))
    return (record && record.getInto() == bound) ||
           no("the old value is read at another index");
  const Segment &facts = segmentOf(sweep, segment);
  int64_t rank = facts.rank;
  int64_t resultRank = rankOf(result.getType());
  if (resultRank == 0) // Written when the member is complete.
    return !isReadLate(segment, number - firstInput) || no(late);
  // An element is read by the thread that writes the result, also if a row is
  // traversed several times. The last traversal stores the result.
  if (resultRank == rank)
    return index == (rank == 2 ? kIJ : kI) ||
           no("the old value is read at another index");
  unsigned firstResult =
      sweep.getSegmentResults(segment).front().getResultNumber();
  Value value =
      sweep.getSegmentYield(segment).getValues()[position - firstResult];
  int32_t own = facts.levels->of(value).level == Level::column ? kJ : kI;
  return index == own || no("the old value is read at another index");
}

/// Whether `result` may overwrite `old`: no operation reads `old` after the
/// operation that computes `result`.
bool BufferAssigner::mayReplace(Value result, Value old, std::string *why) {
  if (!old)
    return true;
  Operation *op = result.getDefiningOp();
  if (!op || op->getBlock() != old.getParentBlock())
    return false;
  for (OpOperand &use : old.getUses()) {
    Operation *user =
        old.getParentBlock()->findAncestorOpInBlock(*use.getOwner());
    if (user == op) {
      if (auto loop = dyn_cast<LoopOp>(op)) {
        // `old` may be the initial value of the carried value that replaces it.
        bool starts =
            use.getOwner() == op &&
            use.getOperandNumber() == cast<OpResult>(result).getResultNumber();
        if (!starts) {
          if (why)
            *why = "the loop reads the old value again";
          return false;
        }
      } else if (!mayOverwrite(cast<OpResult>(result), use, why)) {
        return false;
      }
    } else if (!user || endOf(user) > beginOf(op)) {
      if (why)
        *why = "the old value is read again later";
      return false;
    }
  }
  return true;
}

/// Moves sweeps that read `old` before the operation that computes `result`, if
/// they do not depend on that operation.
void BufferAssigner::readFirst(Value result, Value old) {
  Operation *op = result.getDefiningOp();
  if (!op || !old || op->getBlock() != old.getParentBlock())
    return;
  SmallVector<Operation *> readers;
  for (Operation *user : old.getUsers())
    if (isa<SweepOp>(user) && user->getBlock() == op->getBlock() &&
        op->isBeforeInBlock(user))
      readers.push_back(user);
  for (Operation *reader : readers) {
    bool free = llvm::all_of(reader->getOperands(), [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return !source || source->getBlock() != op->getBlock() ||
             source->isBeforeInBlock(op);
    });
    if (free)
      reader->moveBefore(op);
  }
}

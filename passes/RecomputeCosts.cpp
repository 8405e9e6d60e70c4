//===- RecomputeCosts.cpp - loading a value or computing it again ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it costs the reader to load a value, in bytes that move, and to compute
// it, in operations that take as long; and which values it may not load.
//
//===----------------------------------------------------------------------===//

#include "dialect/ScalarOps.h"
#include "passes/RecomputeGraph.h"
#include "passes/Scalars.h"
#include "passes/SweepExtension.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle::fused {

/// A list with more readers stays where it is computed.
static constexpr unsigned kMostReaders = 16;

/// Units of weight for one byte.
static constexpr int64_t kByte = 16;

int64_t weightOf(Level level, int64_t rank) {
  switch (level) {
  case Level::element:
    return int64_t(1) << (10 * rank);
  case Level::row:
  case Level::column:
    return 1 << 10;
  case Level::member:
    return 1;
  case Level::list:
    return 0;
  }
  llvm_unreachable("a level");
}

static int64_t bytesOf(Type storage) {
  return (storage.getIntOrFloatBitWidth() + 7) / 8;
}

/// The bytes in whose time a thread computes `op`, in units of weight: memory
/// accesses hide about 30 cheap operations for each element of 4 bytes.
static int64_t costOf(Operation *op) {
  const ScalarOp *scalar = findScalarOp(op);
  if (!scalar)
    return 0;
  bool isDouble = op->getResult(0).getType().isF64();
  switch (scalar->cost) {
  case ScalarCost::cheap:
    return kByte / 8;
  case ScalarCost::slowInDouble:
    return isDouble ? 4 * kByte : kByte;
  case ScalarCost::slow:
    return isDouble ? 16 * kByte : 4 * kByte;
  }
  llvm_unreachable("a cost");
}

/// The result of an operation before the reader that replaces `operand`; null
/// if there is none.
OpResult RecomputeGraph::writerBefore(Value operand) const {
  auto by = dyn_cast_or_null<OpResult>(facts.replacementOf(operand));
  if (!by || by.getOwner()->getBlock() != reader->getBlock() ||
      moved.contains(by) || !by.getOwner()->isBeforeInBlock(reader))
    return {};
  return by;
}

void RecomputeGraph::addMovable(OpResult result) {
  if (reasonToStay(result).empty() && !llvm::is_contained(movable, result))
    movable.push_back(result);
}

/// Whether the reader would find a new value in the buffer of `operand`.
bool RecomputeGraph::isOverwritten(Value operand) {
  if (facts.isLoopInit(operand))
    return true;
  OpResult by = writerBefore(operand);
  if (!by)
    return false;
  addMovable(by);
  return true;
}

/// Finds the operands of the reader that an earlier sweep replaces. A reader
/// that needs nothing of this sweep is not one of them, because it can run
/// before.
void RecomputeGraph::addCopied() {
  for (auto [operand, index, argument] :
       llvm::zip_equal(reader.getSegmentInputs(0), reader.getSegmentIndices(0),
                       reader.getSegmentBlock(0).getArguments())) {
    OpResult by = writerBefore(operand);
    if (argument.use_empty() || !by || index != (rank == 2 ? kIJ : kI))
      continue;
    Operation *writer = by.getOwner();
    bool depends = llvm::any_of(reader->getOperands(), [&](Value value) {
      Operation *source = value.getDefiningOp();
      return source && source->getBlock() == writer->getBlock() &&
             !source->isBeforeInBlock(writer);
    });
    if (!depends || llvm::is_contained(copied, operand))
      continue;
    copied.push_back(operand);
    addMovable(by);
  }
}

/// Why the reader may not compute and store `result`, an element value of an
/// earlier sweep over the same domain; empty if it may.
StringRef RecomputeGraph::reasonToStay(OpResult result) {
  auto sweep = dyn_cast<SweepOp>(result.getOwner());
  unsigned position = result.getResultNumber();
  if (!sweep)
    return "no sweep computes it";
  if (!isList(result.getType()) || rankOf(result.getType()) != rank ||
      sweep.getDomainRank(0) != rank)
    return "its domain is another one";
  if (sweep.getWhere() != reader.getWhere())
    return "the members that change it are others";
  const Levels *levels = facts.levelsOf(sweep);
  if (!levels || position >= sweep.getSegmentResults(0).size())
    return "its sweep has several segments";
  if (sweep.getRecord(position))
    return "it is an entry of a list";
  LevelOf of = levels->of(sweep.getSegmentYield(0).getValues()[position]);
  if (of.level != Level::element)
    return "it is not a value of an element";
  if (of.after)
    return "it needs a value that is complete only after its sweep";
  unsigned users = 0;
  for (Operation *user : result.getUsers()) {
    Operation *op = reader->getBlock()->findAncestorOpInBlock(*user);
    if (op != reader.getOperation() && !(op && reader->isBeforeInBlock(op)))
      return "an earlier operation reads it";
    if (++users > kMostReaders)
      return "too many operations read it";
  }
  return "";
}

/// A sweep that visits rows combines elements in another order.
bool RecomputeGraph::changesOrder(const Node &node) const {
  return rank == 2 && !readerVisitsRows && readerReduces &&
         (node.level == Level::row || node.level == Level::column);
}

int64_t RecomputeGraph::costOfLoad(const Node &node) {
  if (!node.stored)
    return costOfNewResult(node);
  if (!isList(node.stored.getType()))
    return bound.contains({node.stored, node.index}) ||
                   !isOverwritten(node.stored) || keeperOf(node)
               ? 0
               : kNever;
  if (node.index < 0 || isEntryIndex(node.index) || moved.contains(node.stored))
    return kNever;
  bool isBound = bound.contains({node.stored, node.index});
  int64_t weight = weightOf(node.level, rank) * kByte;
  int64_t bytes = bytesOf(storageType(node.stored.getType()));
  if (!node.value) {
    if (isBound)
      return 0;
    return changesOrder(node) || isOverwritten(node.stored) ? kNever
                                                            : bytes * weight;
  }
  if (!isBound)
    return facts.isLoopInit(node.stored) ? kNever : bytes * weight;
  // The last reader also saves the bytes that are written. Others prefer to
  // compute the value if that costs no bytes; in rows, whose operations are
  // few, also if it costs less than their share of the write.
  if (isLastReader(node))
    return 2 * bytes * weight;
  auto isSweep = [](Operation *user) { return isa<SweepOp>(user); };
  if (!llvm::all_of(node.stored.getUsers(), isSweep))
    return bytes * weight;
  if (int64_t readers = readersOfRows(node))
    return bytes * weight + bytes * weight / readers;
  return bytes * weight + weight * (kByte - 1) / kByte;
}

/// The number of sweeps that read a list as values of rows, and could all
/// compute them: the reader and later ones. 0 if another sweep reads the list,
/// which is written then, and if there are many.
int64_t RecomputeGraph::readersOfRows(const Node &node) {
  if (node.level != Level::row)
    return 0;
  llvm::SmallPtrSet<Operation *, 4> readers;
  for (OpOperand &use : node.stored.getUses()) {
    auto sweep = cast<SweepOp>(use.getOwner());
    if (sweep->getBlock() != reader->getBlock() ||
        sweep->isBeforeInBlock(reader) || sweep.getNumSegments() != 1)
      return 0;
    OperandRange inputs = sweep.getSegmentInputs(0);
    unsigned first = inputs.getBeginOperandIndex(),
             number = use.getOperandNumber();
    if (number < first || number - first >= inputs.size() ||
        sweep.getSegmentIndices(0)[number - first] != kI)
      return 0;
    if (readers.insert(sweep).second && readers.size() > kMostReaders)
      return 0;
  }
  return readers.size();
}

/// The epilogue that computes the new value of a scalar may store the old one,
/// too, if it has it.
SweepOp RecomputeGraph::keeperOf(const Node &node) {
  if (!node.stored || isList(node.stored.getType()) ||
      bound.contains({node.stored, node.index}) ||
      facts.isLoopInit(node.stored))
    return {};
  OpResult by = writerBefore(node.stored);
  auto sweep = by ? dyn_cast<SweepOp>(by.getOwner()) : SweepOp();
  return sweep && sweep.getNumSegments() == 1 && inEpilogue(sweep, node.stored)
             ? sweep
             : SweepOp();
}

/// Whether no list is written if the reader computes the value. A reader that
/// binds the list at another index, too, may still need it.
bool RecomputeGraph::isLastReader(const Node &node) {
  if (!llvm::all_of(node.stored.getUsers(),
                    [&](Operation *user) { return user == reader; }))
    return false;
  return llvm::none_of(ArrayRef<int32_t>{kI, kJ, kIJ}, [&](int32_t index) {
    return index != node.index && bound.contains({node.stored, index});
  });
}

/// The cost of storing and loading a value that no list holds.
int64_t RecomputeGraph::costOfNewResult(const Node &node) {
  if (node.index < 0 || node.level == Level::list || node.isRounding)
    return kNever;
  Type type = node.value.getType();
  if (!type.isF32() && !type.isF64())
    return kNever;
  if (facts.levelsOf(node.sweep)->of(node.value).after)
    return kNever;
  return 2 * bytesOf(type) * weightOf(node.level, rank) * kByte;
}

std::optional<foreach::Axis> RecomputeGraph::axisOf(const Node &node) const {
  Operation *op = node.value ? node.value.getDefiningOp() : nullptr;
  auto extent = dyn_cast_or_null<foreach::ExtentOp>(op);
  auto index = dyn_cast_or_null<foreach::IndexOp>(op);
  if (!extent && !index)
    return std::nullopt;
  SweepOp sweep = node.sweep;
  return node.map.of(extent ? extent.getAxis() : index.getAxis(),
                     sweep.getDomainRank(0),
                     facts.domainOf(sweep) == facts.domainOf(reader));
}

/// The cost of computing a value whose operands the reader has.
int64_t RecomputeGraph::costOfCompute(const Node &node) {
  if (node.isRounding)
    return 0;
  Operation *op = node.value.getDefiningOp();
  if (!isScalarOp(op) || op->getNumResults() != 1 || op->getNumRegions() > 0)
    return kNever;
  if (isa<foreach::ExtentOp, foreach::IndexOp>(op) && !axisOf(node))
    return kNever;
  switch (node.level) {
  case Level::list:
    return 0;
  case Level::member:
    // Each block would compute it.
    return isExpensive(op) ? kNever : 0;
  case Level::row:
    return costOf(op) * weightOf(Level::row, rank);
  default:
    // A sweep over matrices computes column values once for each row.
    return costOf(op) * weightOf(Level::element, rank);
  }
}

/// The weight of the bytes of the list that holds the value of a node.
int64_t RecomputeGraph::bytesOfList(const Node &node) const {
  return bytesOf(storageType(node.stored.getType())) *
         weightOf(node.level, rank) * kByte;
}

/// The cost of copying the new elements of an argument at the end.
int64_t RecomputeGraph::costOfCopy(Value operand) const {
  return 2 * bytesOf(storageType(operand.getType())) *
         weightOf(Level::element, rank) * kByte;
}

} // namespace heddle::fused

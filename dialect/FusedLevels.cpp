//===- FusedLevels.cpp - the loop axes that values vary over --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits a body once, in order. The index of an argument and the operands of an
// operation determine their levels; a reduction names its level.
//
//===----------------------------------------------------------------------===//

#include "dialect/FusedLevels.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle::fused {

Level join(Level a, Level b) {
  if (a == b)
    return a;
  Level low = std::min(a, b), high = std::max(a, b);
  if (low == Level::column && high == Level::row)
    return Level::element;
  return high;
}

/// The name with its article: "an element", "a row".
static std::string articleAndName(Level level) {
  return (level == Level::element ? "an " : "a ") + stringifyLevel(level).str();
}

Level levelOfArgument(Type type, int32_t index, int64_t rank) {
  if (!isList(type))
    return Level::list;
  switch (index) {
  case kScalar:
  case kIteration:
  case kNext:
  case kFirst:
    return Level::member;
  case kI:
    return rank == 2 ? Level::row : Level::element;
  case kJ:
    return Level::column;
  default:
    return Level::element;
  }
}

static Level countedBy(std::optional<Level> from, Level operand) {
  return from ? join(operand, *from) : operand;
}

Level Levels::countedBy(ReduceOp reduce) const {
  return fused::countedBy(reduce.getFrom(), of(reduce.getValue()).level);
}

/// The level of a record, which stores its value when the member is complete.
static FailureOr<LevelOf> levelOfRecord(RecordOp op, LevelOf value) {
  if (value.level > Level::member)
    return op.emitOpError("expected to record a member or list value, found ")
           << articleAndName(value.level) << " value";
  return LevelOf{Level::member, true, value.afterColumns};
}

static FailureOr<LevelOf> levelOfReduction(ReduceOp op, LevelOf operand,
                                           std::optional<Level> from,
                                           int64_t rank) {
  Level own = operand.level;
  operand.level = countedBy(from, own);
  Level to = op.getLevel();
  auto name = [](Level level) { return stringifyLevel(level); };
  if (to == Level::element)
    return op.emitOpError("expected to reduce to row, column, member or list, "
                          "found element");
  if ((to == Level::row || to == Level::column) && rank != 2)
    return op.emitOpError("expected a domain of rank 2 for a reduction to ")
           << name(to) << ", found rank " << rank;
  bool lowers = (to == Level::row || to == Level::column)
                    ? operand.level == Level::element
                    : operand.level > to;
  if (!lowers)
    return op.emitOpError("cannot reduce ")
           << articleAndName(operand.level) << " value to "
           << articleAndName(to) << " value";
  // A value of the whole list stays incomplete, also if `from` counts it once
  // per member.
  bool isMember = own == Level::member && operand.level == Level::member;
  bool isColumn = own == Level::column && operand.level == Level::column;
  if (operand.after && isColumn && to == Level::member)
    return LevelOf{to, true, true};
  if (operand.after && !(isMember && to == Level::list))
    return op.emitOpError("reduces ")
           << articleAndName(own)
           << " value that is complete only after the sweep; it belongs in "
              "another sweep";
  return LevelOf{to, to != Level::row, operand.afterColumns};
}

/// Checks the level of a shift, which is complete before the exponentials.
static LogicalResult verifyShift(ReduceOp op, LevelOf shift) {
  auto error = [&]() -> InFlightDiagnostic {
    return op.emitOpError("expected a shift of level ")
           << stringifyLevel(op.getLevel()) << " or lower, found "
           << articleAndName(shift.level) << " value";
  };
  if (shift.after)
    return error() << " that is complete only after the sweep";
  if (join(shift.level, op.getLevel()) != op.getLevel())
    return error();
  return success();
}

/// Checks the level of `inactive`, which is complete before the sweep.
static LogicalResult verifyInactive(ReduceOp op, LevelOf inactive) {
  if (!inactive.after && join(inactive.level, Level::column) == Level::column)
    return success();
  return op.emitOpError(
             "expected 'inactive' to be a column value or of a lower "
             "level, complete before the sweep, found ")
         << articleAndName(inactive.level) << " value"
         << (inactive.after ? " that is complete only after the sweep" : "");
}

/// The level that an operation gets from its operands alone.
static FailureOr<LevelOf>
joinOfOperands(Operation &op, llvm::function_ref<LevelOf(Value)> of) {
  LevelOf joined{Level::list, false};
  for (Value operand : op.getOperands()) {
    LevelOf level = of(operand);
    joined.level = join(joined.level, level.level);
    joined.after |= level.after;
    joined.afterColumns |= level.afterColumns;
    if (level.after && level.level == Level::list)
      return op.emitOpError("uses a list value that is complete only after "
                            "the sweep; it belongs in the epilogue");
  }
  if (joined.after &&
      (joined.level == Level::element || joined.level == Level::row))
    return op.emitOpError("computes ")
           << articleAndName(joined.level)
           << " value from a value that is complete only after the sweep; "
              "it belongs in another sweep";
  if (joined.afterColumns && joined.level == Level::column)
    return op.emitOpError("computes a column value from a value that is "
                          "complete only after the columns; it belongs in "
                          "another sweep");
  return joined;
}

std::optional<Level> levelOfPosition(Operation &op, int64_t rank) {
  if (isa<foreach::ExtentOp>(op))
    return Level::member;
  auto index = dyn_cast<foreach::IndexOp>(op);
  if (!index)
    return std::nullopt;
  if (rank == 2 && index.getAxis() == foreach::Axis::i)
    return Level::row;
  if (rank == 2 && index.getAxis() == foreach::Axis::j)
    return Level::column;
  return Level::element;
}

FailureOr<LevelOf> levelOfResults(Operation &op, int64_t rank,
                                  llvm::function_ref<LevelOf(Value)> of,
                                  std::optional<Level> from) {
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto lowered = levelOfReduction(reduce, of(reduce.getValue()), from, rank);
    if (failed(lowered))
      return failure();
    if (Value shift = reduce.getShift();
        shift && failed(verifyShift(reduce, of(shift))))
      return failure();
    if (Value inactive = reduce.getInactive();
        inactive && failed(verifyInactive(reduce, of(inactive))))
      return failure();
    return lowered;
  }
  if (std::optional<Level> own = levelOfPosition(op, rank))
    return LevelOf{*own, false};
  auto level = joinOfOperands(op, of);
  if (failed(level))
    return failure();
  if (auto record = dyn_cast<RecordOp>(op))
    return levelOfRecord(record, of(record.getValue()));
  if (auto precompute = dyn_cast<PrecomputeOp>(op))
    for (Value operand : precompute.getInputs())
      if (!isa<BlockArgument>(operand) || of(operand).level > Level::member)
        return precompute.emitOpError(
            "expected operands that are member or list scalars bound to "
            "the sweep");
  return level;
}

FailureOr<Levels> Levels::infer(SweepOp sweep, unsigned segment) {
  Levels result;
  Block &body = sweep.getSegmentBlock(segment);
  int64_t rank = sweep.getDomainRank(segment);
  auto indices = sweep.getSegmentIndices(segment);
  for (auto [k, operand] : llvm::enumerate(sweep.getSegmentInputs(segment)))
    result.levels[body.getArgument(k)] = {
        levelOfArgument(operand.getType(), indices[k], rank), false};
  for (Operation &op : body.without_terminator()) {
    auto reduce = dyn_cast<ReduceOp>(op);
    auto level = levelOfResults(
        op, rank, [&](Value value) { return result.of(value); },
        reduce ? reduce.getFrom() : std::nullopt);
    if (failed(level))
      return failure();
    for (Value value : op.getResults())
      result.levels[value] = *level;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Counted values
//===----------------------------------------------------------------------===//

static void
forEachReduction(SweepOp sweep,
                 llvm::function_ref<void(ReduceOp, const Levels &)> visit) {
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    auto levels = Levels::infer(sweep, s);
    if (failed(levels))
      continue;
    for (auto reduce : sweep.getSegmentBlock(s).getOps<ReduceOp>())
      visit(reduce, *levels);
  }
}

llvm::DenseSet<Value> backwardSlice(ArrayRef<Value> roots) {
  SmallVector<Value> worklist(roots);
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(worklist, op->getOperands());
  }
  return seen;
}

bool reducesElementsOverMembers(SweepOp sweep, unsigned segment) {
  auto levels = Levels::infer(sweep, segment);
  return succeeded(levels) &&
         llvm::any_of(sweep.getSegmentBlock(segment).getOps<ReduceOp>(),
                      [&](ReduceOp reduce) {
                        return reduce.getLevel() <= Level::member &&
                               levels->countedBy(reduce) == Level::element;
                      });
}

bool reducesOverColumns(SweepOp sweep, unsigned segment) {
  return llvm::any_of(
      sweep.getSegmentBlock(segment).getOps<ReduceOp>(),
      [](ReduceOp reduce) { return reduce.getLevel() == Level::column; });
}

SmallVector<Value> elementResults(SweepOp sweep, unsigned segment) {
  SmallVector<Value> values;
  int64_t rank = sweep.getDomainRank(segment);
  for (auto [result, value] :
       llvm::zip(sweep.getSegmentResults(segment),
                 sweep.getSegmentYield(segment).getValues()))
    if (foreach::isList(result.getType()) &&
        foreach::rankOf(result.getType()) == rank)
      values.push_back(value);
  return values;
}

SmallVector<int64_t> ElementSizes::all() const {
  SmallVector<int64_t> sizes = read;
  sizes.append(written);
  return sizes;
}

int64_t ElementSizes::smallest() const { return *llvm::min_element(all()); }
int64_t ElementSizes::largest() const { return *llvm::max_element(all()); }

ElementSizes elementSizes(SweepOp sweep, unsigned segment) {
  ElementSizes sizes;
  int64_t rank = sweep.getDomainRank(segment);
  auto sizeOf = [](Type type) -> int64_t {
    return (foreach::storageType(type).getIntOrFloatBitWidth() + 7) / 8;
  };
  if (rank == 0)
    return sizes;
  for (auto [operand, index] : llvm::zip_equal(
           sweep.getSegmentInputs(segment), sweep.getSegmentIndices(segment)))
    if (index == (rank == 2 ? kIJ : kI))
      sizes.read.push_back(sizeOf(operand.getType()));
  for (OpResult result : sweep.getSegmentResults(segment))
    if (isList(result.getType()) && foreach::rankOf(result.getType()) == rank &&
        !sweep.getRecord(result.getResultNumber()))
      sizes.written.push_back(sizeOf(result.getType()));
  return sizes;
}

void spellOutFrom(SweepOp sweep) {
  forEachReduction(sweep, [](ReduceOp reduce, const Levels &levels) {
    reduce.setFrom(levels.countedBy(reduce));
  });
}

void dropImpliedFrom(SweepOp sweep) {
  forEachReduction(sweep, [](ReduceOp reduce, const Levels &levels) {
    if (levels.of(reduce.getValue()).level == reduce.getFrom())
      reduce.removeFromAttr();
  });
}

} // namespace heddle::fused

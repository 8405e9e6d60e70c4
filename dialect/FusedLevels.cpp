//===- FusedLevels.cpp - what each value of a sweep is one of -------------===//
//
// One walk over the body in order: arguments by their index, operations by the
// join of their operands, reductions by what they lower to.
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

static Level levelOfArgument(Type type, int32_t index, int64_t rank) {
  if (!isList(type))
    return Level::list;
  switch (index) {
  case kScalar:
  case kTrip:
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

static Level countedBy(ReduceOp op, Level operand) {
  return op.getFrom() ? join(operand, *op.getFrom()) : operand;
}

Level Levels::countedBy(ReduceOp reduce) const {
  return fused::countedBy(reduce, of(reduce.getValue()).level);
}

/// What is recorded is stored when the member is complete.
static FailureOr<LevelOf> levelOfRecord(RecordOp op, LevelOf value) {
  if (value.level > Level::member)
    return op.emitOpError("records a ")
           << stringifyLevel(value.level)
           << " value; expected one for each member";
  return LevelOf{Level::member, true};
}

static FailureOr<LevelOf> levelOfReduction(ReduceOp op, LevelOf operand,
                                           int64_t rank) {
  operand.level = countedBy(op, operand.level);
  Level to = op.getLevel();
  auto name = [](Level level) { return stringifyLevel(level); };
  if (to == Level::element)
    return op.emitOpError("expected to reduce to row, column, member or list, "
                          "found element");
  if ((to == Level::row || to == Level::column) && rank != 2)
    return op.emitOpError("reduces to a ")
           << name(to) << " in a domain of rank " << rank;
  bool lowers = (to == Level::row || to == Level::column)
                    ? operand.level == Level::element
                    : operand.level > to;
  if (!lowers)
    return op.emitOpError("reduces a ")
           << name(operand.level) << " value to a " << name(to) << " value";
  if (operand.after && !(operand.level == Level::member && to == Level::list))
    return op.emitOpError("reduces a ")
           << name(operand.level)
           << " value that is complete only after the sweep; it needs another "
              "sweep";
  return LevelOf{to, to != Level::row};
}

/// What exponentials are taken about is at hand before they are.
static LogicalResult verifyAbout(ReduceOp op, LevelOf about) {
  auto error = [&]() -> InFlightDiagnostic {
    return op.emitOpError("reduces to a ")
           << stringifyLevel(op.getLevel()) << " value about a "
           << stringifyLevel(about.level) << " value";
  };
  if (about.after)
    return error() << " that is complete only after the sweep";
  if (join(about.level, op.getLevel()) != op.getLevel())
    return error() << "; expected one of its own level or lower";
  return success();
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
    LevelOf level{Level::list, false};
    for (Value operand : op.getOperands()) {
      LevelOf of = result.of(operand);
      level.level = join(level.level, of.level);
      level.after |= of.after;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      auto lowered =
          levelOfReduction(reduce, result.of(reduce.getValue()), rank);
      if (failed(lowered))
        return failure();
      level = *lowered;
      if (Value about = reduce.getAbout();
          about && failed(verifyAbout(reduce, result.of(about))))
        return failure();
    } else {
      for (Value operand : op.getOperands())
        if (LevelOf of = result.of(operand);
            of.after && of.level == Level::list)
          return op.emitOpError("uses a value of the whole list, which is "
                                "complete only after the sweep; it belongs in "
                                "'finish'");
      if (level.after &&
          (level.level == Level::element || level.level == Level::row))
        return op.emitOpError("computes a ")
               << stringifyLevel(level.level)
               << " value from one that is complete only after the sweep; it "
                  "needs another sweep";
      if (auto record = dyn_cast<RecordOp>(op)) {
        auto recorded = levelOfRecord(record, result.of(record.getValue()));
        if (failed(recorded))
          return failure();
        level = *recorded;
      }
      if (auto ahead = dyn_cast<AheadOp>(op))
        for (Value operand : ahead.getInputs())
          if (!isa<BlockArgument>(operand) ||
              result.of(operand).level > Level::member)
            return ahead.emitOpError(
                "expected operands that are member or list scalars bound to "
                "the sweep");
    }
    for (Value value : op.getResults())
      result.levels[value] = level;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// What reductions count
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

llvm::DenseSet<Value> behind(ArrayRef<Value> roots) {
  SmallVector<Value> open(roots);
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(open, op->getOperands());
  }
  return seen;
}

SmallVector<Value> elementResults(SweepOp sweep, unsigned segment) {
  SmallVector<Value> values;
  for (auto [result, value] :
       llvm::zip(sweep.getSegmentResults(segment),
                 sweep.getSegmentYield(segment).getValues()))
    if (foreach::isList(result.getType()) &&
        foreach::rankOf(result.getType()) == sweep.getDomainRank(segment))
      values.push_back(value);
  return values;
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

//===- FusedMarkInactiveColumns.cpp - columns whose sums may be 0 ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a flag of the column is set, the program's selects may discard every value
// that depends on the column's log-sum-exp, for each log-sum-exp below
// infinity.
//
//===----------------------------------------------------------------------===//

#include "dialect/FusedPanelAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDMARKINACTIVECOLUMNS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

namespace {
/// A select that discards a value that depends on the log-sum-exp, if all
/// `flags` of the column are set; if `isNegated`, unless all are set.
struct Discard {
  llvm::SetVector<Value> flags;
  bool isNegated;
};

class InactiveColumns {
public:
  InactiveColumns(fused::ReduceOp reduce, const Levels &levels)
      : result(reduce.getResult(0)), levels(levels) {}
  /// The selects that together discard every value that depends on the result,
  /// if the result is below infinity. Nothing if another use needs the result.
  std::optional<SmallVector<Discard>> find() const;

private:
  std::optional<llvm::SetVector<Value>> flagsOf(Value condition) const;

  Value result;
  const Levels &levels;
};

struct FusedMarkInactiveColumns
    : heddle::impl::FusedMarkInactiveColumnsBase<FusedMarkInactiveColumns> {
  using FusedMarkInactiveColumnsBase::FusedMarkInactiveColumnsBase;

  void runOnOperation() override {
    getOperation().walk([&](SweepOp sweep) {
      // Other schedules ignore the hint.
      if (sweep.getScheduleAttr() &&
          sweep.getScheduleAttr().getKind() == ScheduleKind::panel)
        markSweep(sweep);
    });
  }

  void markSweep(SweepOp sweep);
  void mark(fused::ReduceOp column, ArrayRef<Discard> discards);
};
} // namespace

/// The flags whose conjunction equals `condition` for every result below
/// infinity. Nothing if `condition` depends on the result in another way.
std::optional<llvm::SetVector<Value>>
InactiveColumns::flagsOf(Value condition) const {
  llvm::SetVector<Value> flags;
  SmallVector<Value> open = {condition};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (levels.of(value) == LevelOf{Level::column, false}) {
      flags.insert(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto compare = dyn_cast_or_null<arith::CmpFOp>(op))
      if (compare.getPredicate() == arith::CmpFPredicate::OLT &&
          compare.getLhs() == result &&
          matchPattern(compare.getRhs(), m_PosInfFloat()))
        continue;
    if (!isa_and_nonnull<arith::AndIOp>(op))
      return std::nullopt;
    // The first operand is on top, so that flags keep their order.
    open.push_back(op->getOperand(1));
    open.push_back(op->getOperand(0));
  }
  return flags;
}

std::optional<SmallVector<Discard>> InactiveColumns::find() const {
  SmallVector<Discard> discards;
  SmallVector<Value> open = {result};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp, fused::ReduceOp, RecordOp>(user))
        return std::nullopt;
      if (value == result && isa<arith::CmpFOp>(user) &&
          flagsOf(user->getResult(0)))
        continue; // true for every result below infinity
      if (auto select = dyn_cast<arith::SelectOp>(user);
          select && use.getOperandNumber() > 0 &&
          select.getTrueValue() != select.getFalseValue())
        if (auto flags = flagsOf(select.getCondition())) {
          discards.push_back({*flags, use.getOperandNumber() == 1});
          continue;
        }
      llvm::append_range(open, user->getResults());
    }
  }
  return discards;
}

/// Moves `value`, and the operations that it needs, before `op`.
static void computeBefore(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  if (!producer || producer->isBeforeInBlock(op))
    return;
  for (Value operand : producer->getOperands())
    computeBefore(operand, op);
  producer->moveBefore(op);
}

/// Sets `inactive` of `column` to a flag under which all `discards` apply.
void FusedMarkInactiveColumns::mark(fused::ReduceOp column,
                                    ArrayRef<Discard> discards) {
  OpBuilder builder(column);
  // The reduction's location would name the flag like the result.
  Location loc = builder.getUnknownLoc();
  llvm::SetVector<Value> all;
  auto conjunction = [&](ArrayRef<Value> flags) {
    Value result = flags.front();
    for (Value flag : flags.drop_front())
      result = arith::AndIOp::create(builder, loc, result, flag);
    return result;
  };
  auto constant = [&](bool value) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value))
        .getResult();
  };
  for (const Discard &discard : discards) {
    for (Value flag : discard.flags)
      computeBefore(flag, column);
    // A select that never discards the value, for any result below infinity.
    if (discard.flags.empty() && discard.isNegated)
      return;
    if (discard.isNegated)
      all.insert(arith::XOrIOp::create(builder, loc,
                                       conjunction(discard.flags.getArrayRef()),
                                       constant(true)));
    else
      all.insert_range(discard.flags);
  }
  column.getInactiveMutable().assign(
      all.empty() ? constant(true) : conjunction(all.getArrayRef()));
  ++numMarked;
  if (remarks)
    mlir::emitRemark(column.getLoc())
        << quoted(column.getResult(0))
        << " is not recomputed for inactive columns, whose sum of exponentials "
           "is 0";
}

void FusedMarkInactiveColumns::markSweep(SweepOp sweep) {
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    auto levels = Levels::infer(sweep, s);
    if (failed(levels))
      continue;
    for (auto column : llvm::make_early_inc_range(
             sweep.getSegmentBlock(s).getOps<fused::ReduceOp>())) {
      if (column.getKind() != ReduceKind::logsumexp ||
          column.getLevel() != Level::column || column.getInactive() ||
          !PanelAnalysis::sumsPowers(column))
        continue;
      if (auto discards = InactiveColumns(column, *levels).find())
        mark(column, *discards);
    }
  }
}

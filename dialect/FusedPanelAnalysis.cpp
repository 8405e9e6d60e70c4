//===- FusedPanelAnalysis.cpp - sweeps for the panel schedule -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FusedPanelAnalysis.h"
#include "dialect/Bindings.h"
#include "dialect/Exponents.h"
#include "dialect/ReduceKinds.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::ReduceKind;

namespace heddle::fused {

/// The reason why `sweep` cannot have the panel schedule, whatever its body;
/// empty if there is none.
static StringRef reasonAgainst(SweepOp sweep) {
  auto loop = dyn_cast<LoopOp>(sweep->getParentOp());
  constexpr StringRef noFlags =
      "it is not in a loop with a flag for every member";
  if (!loop)
    return noFlags;
  if (!llvm::hasSingleElement(loop.getBody().front().without_terminator()))
    return "its loop has other sweeps";
  if (!loop.getActive())
    return noFlags;
  if (sweep.getNumSegments() != 1 || sweep.hasEpilogue())
    return "it has several segments or an epilogue";
  if (sweep.getDomainRank(0) != 2)
    return "its domain has no rows and columns";
  for (Value result : sweep.getResults())
    if (!isList(result.getType()) || rankOf(result.getType()) == 2)
      return "it writes elements or list values";
  if (!llvm::is_contained(sweep.getIndices(), kIJ))
    return "it reads no elements";
  return "";
}

/// Whether the element terms in the exponent of `sum` depend on row values that
/// the loop carries.
static bool dependsOnCarriedRows(SweepOp sweep, ReduceOp sum,
                                 const Levels &levels) {
  auto exponent = decompose(sum.getValue(), levels);
  if (failed(exponent))
    return true;
  SmallVector<Value> worklist;
  for (const Term &term : exponent->element)
    worklist.push_back(term.value);
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp()) {
      llvm::append_range(worklist, op->getOperands());
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    Value operand = sweep.getSegmentInputs(0)[argument.getArgNumber()];
    if (levels.of(value).level == Level::row && isa<BlockArgument>(operand) &&
        operand.getParentBlock() == sweep->getBlock())
      return true;
  }
  return false;
}

std::optional<PanelAnalysis> PanelAnalysis::of(SweepOp sweep,
                                               std::string &why) {
  auto refuse = [&](const llvm::Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  if (StringRef reason = reasonAgainst(sweep); !reason.empty())
    return refuse(reason);
  auto levels = Levels::infer(sweep, 0);
  if (failed(levels))
    return refuse("its levels are not valid");
  PanelAnalysis panel;
  Block &body = sweep.getSegmentBlock(0);
  for (Operation &op : body.without_terminator()) {
    if (isa<PrecomputeOp>(op))
      return refuse("it uses precomputed scalars");
    if (isa<foreach::IndexOp>(op))
      return refuse("it uses a position");
    auto reduce = dyn_cast<ReduceOp>(op);
    bool accumulated =
        llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) {
          return !isHint(operand) && panel.isAccumulated(operand.get());
        });
    if (reduce) {
      Level level = reduce.getLevel();
      LevelOf of = levels->of(reduce.getValue());
      Level from =
          reduce.getFrom() ? join(of.level, *reduce.getFrom()) : of.level;
      bool sums = reduce.getKind() == ReduceKind::logsumexp;
      bool ofColumns = levels->reducesCompleteColumns(reduce);
      if (foreach::hasPosition(reduce.getKind()) && !ofColumns)
        return refuse("panels do not combine positions of maxima");
      if (level == Level::row) {
        if (accumulated)
          return refuse("a reduction over rows depends on another one");
        if (of.level != Level::element)
          return refuse("a reduction over rows has an operand that is not an "
                        "element value");
        if (sums && !reduce.getShift())
          return refuse("a log-sum-exp over rows has no shift");
        panel.rows.push_back(reduce);
      } else if (level == Level::column) {
        if (of.level != Level::element)
          return refuse("a reduction over columns has an operand that is not "
                        "an element value");
        if (sums && !sumsPowers(reduce))
          return refuse("a log-sum-exp over columns has no shift and shares no "
                        "exponentials");
        panel.columns.push_back(reduce);
      } else if (level == Level::member && !of.after && of.level == from &&
                 (from == Level::row || from == Level::column)) {
        panel.members.push_back(reduce);
      } else if (ofColumns) {
        panel.ofCompleteColumns.push_back(reduce);
      } else {
        return refuse("it reduces values over a member that are neither row "
                      "values nor column values");
      }
      accumulated |= level == Level::row;
    }
    if (accumulated)
      for (Value result : op.getResults())
        if (levels->of(result).level >= Level::row && !levels->of(result).after)
          panel.accumulated.insert(result);
  }
  if (panel.rows.empty() || panel.columns.empty())
    return refuse("it does not reduce both rows and columns");
  if (llvm::any_of(panel.rows,
                   [](ReduceOp row) { return bool(row.getShift()); }))
    for (ReduceOp column : panel.columns)
      if (!sumsPowers(column))
        return refuse(
            "its rows are sums of exponentials, but some of its columns are "
            "not");
  // The fallback handles each unsafe sum of a row separately, so the exponents
  // of a column may depend on one reduction of the row only.
  for (ReduceOp column : panel.columns) {
    if (!sumsPowers(column))
      continue;
    auto exponent = decompose(column.getValue(), *levels);
    if (failed(exponent))
      return refuse(
          "the exponents of a column are complete only after the sweep, or "
          "have too many terms");
    Value only = column.getSharing();
    for (const Term &term : exponent->row)
      for (ReduceOp row : panel.rows) {
        if (!dependsOn(term.value, row.getResult(0)) ||
            row.getResult(0) == only)
          continue;
        if (only)
          return refuse("the exponents of a column depend on two reductions of "
                        "the row");
        only = row.getResult(0);
      }
    auto row = only ? only.getDefiningOp<ReduceOp>() : ReduceOp();
    panel.rowBefore[column] = row && row.getShift() ? row : nullptr;
    if (llvm::any_of(exponent->element, [&](const Term &term) {
          return panel.isAccumulated(term.value);
        }))
      return refuse(
          "the exponents of a column multiply elements by a reduction of "
          "their row");
  }
  // The fallback may recompute a sum after the iteration has replaced the row
  // values with which it began.
  for (ReduceOp sum : llvm::concat<ReduceOp>(panel.rows, panel.columns))
    if (sum.getShift() && dependsOnCarriedRows(sweep, sum, *levels))
      return refuse(
          "the element terms of an exponent depend on row values that the "
          "iteration replaces");
  // Values of the reduce phase that the accumulate phase uses.
  auto keep = [&](Value value) {
    if (levels->of(value).level == Level::element &&
        !panel.isAccumulated(value))
      panel.kept.insert(value);
  };
  for (ReduceOp column : panel.columns) {
    if (column.getSharing()) {
      panel.shared.insert(column.getSharing().getDefiningOp());
      continue;
    }
    SmallVector<Value> worklist;
    if (takesOwnPowers(column)) {
      auto exponent = decompose(column.getValue(), *levels);
      for (const Term &term : exponent->element)
        worklist.push_back(term.value);
    } else {
      worklist.push_back(column.getValue());
    }
    llvm::DenseSet<Value> seen;
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      keep(value);
      if (panel.isAccumulated(value) &&
          levels->of(value).level == Level::element)
        llvm::append_range(worklist, value.getDefiningOp()->getOperands());
    }
  }
  return panel;
}

} // namespace heddle::fused

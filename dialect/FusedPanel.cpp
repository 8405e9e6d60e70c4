//===- FusedPanel.cpp - a sweep that keeps its columns on chip ------------===//

#include "dialect/FusedPanel.h"
#include "dialect/Bindings.h"
#include "dialect/Exponents.h"
#include "dialect/ReduceKinds.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::ReduceKind;

namespace heddle::fused {

/// Why a sweep can have no panels at all, whatever its body; empty if it may.
static StringRef reasonAgainst(SweepOp sweep) {
  auto loop = dyn_cast<LoopOp>(sweep->getParentOp());
  if (!loop || !loop.getActive())
    return "it is in no loop whose members stop on their own";
  if (!llvm::hasSingleElement(loop.getBody().front().without_terminator()))
    return "its loop has other sweeps besides";
  if (sweep.getNumSegments() != 1 || sweep.hasFinish())
    return "its lists differ, or meet";
  if (sweep.getDomainRank(0) != 2)
    return "its domain has no rows and columns";
  for (Value result : sweep.getResults())
    if (!isList(result.getType()) || rankOf(result.getType()) == 2)
      return "it writes elements, or a value of the whole list";
  if (!llvm::is_contained(sweep.getIndices(), kIJ))
    return "it reads no elements";
  return "";
}

/// Whether the terms of elements in the exponent of `sum` are made of values of
/// rows that the loop carries.
static bool dependsOnCarriedRows(SweepOp sweep, ReduceOp sum,
                                 const Levels &levels) {
  auto exponent = decompose(sum.getValue(), levels);
  if (failed(exponent))
    return true;
  SmallVector<Value> open;
  for (const Term &term : exponent->element)
    open.push_back(term.value);
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp()) {
      llvm::append_range(open, op->getOperands());
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

std::optional<Panel> Panel::of(SweepOp sweep, std::string &why) {
  auto refuse = [&](const llvm::Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  if (StringRef reason = reasonAgainst(sweep); !reason.empty())
    return refuse(reason);
  auto levels = Levels::infer(sweep, 0);
  if (failed(levels))
    return refuse("its levels do not agree");
  Panel panel;
  Block &body = sweep.getSegmentBlock(0);
  for (Operation &op : body.without_terminator()) {
    if (isa<AheadOp>(op))
      return refuse("it keeps scalars from trip to trip");
    auto reduce = dyn_cast<ReduceOp>(op);
    bool second = llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) {
      return !isHint(operand) && panel.isSecond(operand.get());
    });
    if (reduce) {
      Level level = reduce.getLevel();
      LevelOf of = levels->of(reduce.getValue());
      Level from =
          reduce.getFrom() ? join(of.level, *reduce.getFrom()) : of.level;
      bool sums = reduce.getKind() == ReduceKind::logsumexp;
      if (foreach::hasPosition(reduce.getKind()))
        return refuse("positions of maxima are not combined in panels");
      if (level == Level::row) {
        if (second)
          return refuse("a row is reduced after another reduction of it");
        if (of.level != Level::element)
          return refuse("what a row is reduced from is no value of elements");
        if (sums && !reduce.getAbout())
          return refuse("a log-sum-exp of rows has nothing to be taken about");
        panel.rows.push_back(reduce);
      } else if (level == Level::column) {
        if (of.level != Level::element)
          return refuse(
              "what a column is reduced from is no value of elements");
        if (sums && !sumsPowers(reduce))
          return refuse("a log-sum-exp of columns has nothing to be taken "
                        "about, and shares no exponential with one of rows");
        panel.columns.push_back(reduce);
      } else if (level == Level::member && !of.after && of.level == from &&
                 (from == Level::row || from == Level::column)) {
        panel.members.push_back(reduce);
      } else {
        return refuse("it reduces other values over a member than those of "
                      "rows, or of columns as the trip begins");
      }
      second |= level == Level::row;
    }
    if (second)
      for (Value result : op.getResults())
        if (levels->of(result).level >= Level::row && !levels->of(result).after)
          panel.second.insert(result);
  }
  if (panel.rows.empty() || panel.columns.empty())
    return refuse("it does not reduce both rows and columns");
  if (llvm::any_of(panel.rows,
                   [](ReduceOp row) { return bool(row.getAbout()); }))
    for (ReduceOp column : panel.columns)
      if (!sumsPowers(column))
        return refuse("its rows sum up exponentials, and not all of its "
                      "columns do");
  // A row that was not safe is taken anew by itself.
  for (ReduceOp column : panel.columns) {
    if (!sumsPowers(column))
      continue;
    auto exponent = decompose(column.getValue(), *levels);
    if (failed(exponent))
      return refuse("a column's exponents are complete only after the sweep");
    Value only = column.getSharing();
    for (const Term &term : exponent->row)
      for (ReduceOp row : panel.rows) {
        if (!dependsOn(term.value, row.getResult(0)) ||
            row.getResult(0) == only)
          continue;
        if (only)
          return refuse("the exponents of a column depend on another reduction "
                        "of the row than the one whose exponentials they share "
                        "or that they wait for");
        only = row.getResult(0);
      }
    auto row = only ? only.getDefiningOp<ReduceOp>() : ReduceOp();
    panel.awaited[column] = row && row.getAbout() ? row : nullptr;
    if (llvm::any_of(exponent->element, [&](const Term &term) {
          return panel.isSecond(term.value);
        }))
      return refuse("the exponents of a column multiply elements by what their "
                    "row is reduced to");
  }
  // Columns may have to be reduced anew when the rows' values of the trip have
  // replaced those that it began with.
  for (ReduceOp sum : llvm::concat<ReduceOp>(panel.rows, panel.columns))
    if (sum.getAbout() && dependsOnCarriedRows(sweep, sum, *levels))
      return refuse("the elements of an exponent are made of values of rows "
                    "that the trip replaces");
  // What the second pass finds of the first.
  auto keep = [&](Value value) {
    if (levels->of(value).level == Level::element && !panel.isSecond(value))
      panel.kept.insert(value);
  };
  for (ReduceOp column : panel.columns) {
    if (column.getSharing()) {
      panel.shared.insert(column.getSharing().getDefiningOp());
      continue;
    }
    SmallVector<Value> open;
    if (takesOwnPowers(column))
      for (const Term &term : decompose(column.getValue(), *levels)->element)
        open.push_back(term.value);
    else
      open.push_back(column.getValue());
    llvm::DenseSet<Value> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      keep(value);
      if (panel.isSecond(value) && levels->of(value).level == Level::element)
        llvm::append_range(open, value.getDefiningOp()->getOperands());
    }
  }
  return panel;
}

} // namespace heddle::fused

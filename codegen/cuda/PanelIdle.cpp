//===- PanelIdle.cpp - columns from whose sums nothing follows ------------===//
//
// Where a program selects all that follows from a column's sum away, a sum of 0
// is not taken anew.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// The conditions of columns that hold where `condition` does, and whose
/// conjunction it is for every `result` below infinity. Nothing where it
/// depends on `result` otherwise.
std::optional<SmallVector<Value>>
PanelEmitter::conditionsOfColumn(Value condition, Value result) {
  if (levels.of(condition) == fused::LevelOf{Level::column, false})
    return SmallVector<Value>{condition};
  Operation *op = condition.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpFOp>(op))
    if (compare.getPredicate() == arith::CmpFPredicate::OLT &&
        compare.getLhs() == result &&
        matchPattern(compare.getRhs(), m_PosInfFloat()))
      return SmallVector<Value>{};
  if (!isa_and_nonnull<arith::AndIOp>(op))
    return std::nullopt;
  auto all = conditionsOfColumn(op->getOperand(0), result);
  auto more = conditionsOfColumn(op->getOperand(1), result);
  if (!all || !more)
    return std::nullopt;
  llvm::append_range(*all, *more);
  return all;
}

/// Where the result of `column` matters although it is below infinity:
/// elsewhere all that follows from it is selected away. Nothing where it always
/// matters.
std::optional<SmallVector<PanelEmitter::Choice>>
PanelEmitter::choicesOf(fused::ReduceOp column) {
  SmallVector<Choice> choices;
  Value result = column.getResult(0);
  SmallVector<Value> left = {result};
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<fused::YieldOp, fused::ReduceOp, fused::RecordOp>(user))
        return std::nullopt;
      if (value == result && isa<arith::CmpFOp>(user) &&
          conditionsOfColumn(user->getResult(0), result))
        continue; // holds
      if (auto select = dyn_cast<arith::SelectOp>(user);
          select && use.getOperandNumber() > 0 &&
          select.getTrueValue() != select.getFalseValue())
        if (auto all = conditionsOfColumn(select.getCondition(), result)) {
          choices.push_back({*all, use.getOperandNumber() == 1});
          continue;
        }
      llvm::append_range(left, user->getResults());
    }
  }
  return choices;
}

/// Declares whether `column`'s sum of exponentials is 0 and nobody wants to
/// know more: elements that are NaN or infinite would have left something in it
/// (not so a finite one whose product with a scalar overflows: here it is
/// multiplied and added in one step, and a number). The name; empty where every
/// sum matters.
FailureOr<std::string> PanelEmitter::declareIdle(fused::ReduceOp column) {
  auto choices = choicesOf(column);
  if (!choices)
    return std::string();
  SmallVector<std::string> idle{columnSums[column] + "_sum == 0"};
  auto require = [&](std::string condition) {
    if (!llvm::is_contained(idle, condition))
      idle.push_back(std::move(condition));
  };
  for (auto &[conditions, isWanted] : *choices) {
    if (failed(declareNeeded(conditions)))
      return failure();
    SmallVector<std::string> all;
    for (Value condition : conditions)
      all.push_back(text(condition));
    if (isWanted)
      require(all.empty() ? "false" : "!(" + llvm::join(all, " && ") + ")");
    else
      llvm::for_each(all, require);
  }
  std::string name = scope.fresh(columnSums[column] + "_idle");
  os << "const bool " << name << " = " << llvm::join(idle, " && ") << ";\n";
  return name;
}

} // namespace heddle::cuda

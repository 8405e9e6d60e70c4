//===- RowsEmitter.cpp - a panel of rows per block ------------------------===//
//
// Rows are taken one after the other, their columns spread over the threads. A
// row is passed over once for every phase: once more after each reduction whose
// value its elements meet again; what earlier phases computed is computed anew.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

void RowsEmitter::assignPhases() {
  for (Operation &op : body.without_terminator()) {
    unsigned phase = 0;
    for (OpOperand &operand : op.getOpOperands())
      if (!fused::isHint(operand))
        phase = std::max(phase, phases.lookup(operand.get()));
    if (auto reduce = dyn_cast<fused::ReduceOp>(op);
        reduce && reduce.getLevel() == Level::row)
      ++phase;
    for (Value result : op.getResults())
      phases[result] = phase;
    if (!llvm::any_of(op.getResults(),
                      [&](Value result) { return levels.of(result).after; }))
      lastPhase = std::max(lastPhase, phase);
  }
}

bool RowsEmitter::isElementResult(unsigned result) const {
  int slot = slots.results[result];
  return slot >= 0 && slots.operands[slot].index == kIJ;
}

/// Whether a reduction takes its elements in `phase`.
bool RowsEmitter::isOfPhase(fused::ReduceOp op, unsigned phase) const {
  return levels.countedBy(op) == Level::element &&
         phases.lookup(op.getValue()) == phase;
}

static std::string position(fused::ReduceOp op) {
  switch (op.getLevel()) {
  case Level::row:
    return "column";
  case Level::column:
    return "tile.first + row";
  default:
    return "(tile.first + row) * tile.columns + column";
  }
}

/// Declares the element and column values that `roots` are computed from.
LogicalResult RowsEmitter::declareSlice(ArrayRef<Value> roots) {
  OpSet wanted;
  llvm::DenseSet<Value> inputs;
  SmallVector<Value> left(roots);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Level level = levels.of(value).level;
    if (level != Level::element && level != Level::column)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op)
      inputs.insert(value);
    else if (wanted.insert(op).second)
      llvm::append_range(left, op->getOperands());
  }
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (!inputs.contains(argument))
      continue;
    scope.forget(argument);
    StringRef type = computedType(argument.getType());
    std::string at = slots.operands[slot].index == kIJ
                         ? "row * " + pointers[slot + 1] + " + column"
                         : "column";
    os << "const " << type << ' ' << scope.declare(argument)
       << " = heddle::convert<" << type << ">(" << pointers[slot] << "[" << at
       << "]);\n";
  }
  for (Operation *op : wanted)
    for (Value result : op->getResults())
      scope.forget(result);
  return declareOps([&](Operation *op) { return wanted.contains(op); });
}

LogicalResult RowsEmitter::emitElements(unsigned phase) {
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<fused::ReduceOp> taken;
  SmallVector<unsigned> written;
  SmallVector<Value> roots;
  for (fused::ReduceOp op : reductions)
    if (isOfPhase(op, phase)) {
      taken.push_back(op);
      roots.push_back(op.getValue());
    }
  for (auto [k, value] : llvm::enumerate(yield.getValues()))
    if (isElementResult(k) && phases.lookup(value) == phase) {
      written.push_back(k);
      roots.push_back(value);
    }
  if (roots.empty())
    return success();
  declareAccumulators([&](Operation *op) {
    auto reduce = cast<fused::ReduceOp>(op);
    return reduce.getLevel() == Level::row && isOfPhase(reduce, phase);
  });
  os << "for (long long column = threadIdx.x; column < tile.columns; column += "
     << layout.threads << ") {\n";
  os.indent();
  if (failed(declareSlice(roots)))
    return failure();
  for (fused::ReduceOp op : taken) {
    std::string lifted = kindOf(op) + "::lift(" + text(op.getValue()) + ", " +
                         position(op) + ")";
    if (op.getLevel() == Level::column) {
      std::string area =
          names.scratch[layout.scratchOf(op, ScratchPer::tileColumn)] +
          "[tile.column_base + column]";
      os << area << " = row == 0 ? " << lifted << " : " << kindOf(op)
         << "::combine(" << area << ", " << lifted << ");\n";
      continue;
    }
    std::string part = accumulators[op];
    os << part << " = " << kindOf(op) << "::combine(" << part << ", " << lifted
       << ");\n";
  }
  for (unsigned k : written)
    os << pointers[slots.results[k]] << "[row * "
       << pointers[slots.results[k] + 1] << " + column] = "
       << storedExpression(yield.getValues()[k],
                           slots.operands[slots.results[k]].storage)
       << ";\n";
  os.unindent() << "}\n";
  return success();
}

LogicalResult RowsEmitter::emitPhase(unsigned phase) {
  // Row values that reductions of the phase before completed.
  for (fused::ReduceOp op : reductions) {
    if (op.getLevel() != Level::row || phases.lookup(op.getResult(0)) != phase)
      continue;
    std::string state = accumulators[op];
    os << state << " = heddle::over_block<" << kindOf(op) << ", "
       << layout.threads << ">(" << state << ");\n";
    StringRef type = computedType(op.getValue().getType());
    if (op.getKind() == fused::ReduceKind::argmax) {
      os << "const " << type << ' ' << scope.declare(op.getResult(0)) << " = "
         << state << ".value;\n"
         << "const long long " << scope.declare(op.getResult(1), "position")
         << " = " << state << ".position;\n";
    } else {
      os << "const " << type << ' ' << scope.declare(op.getResult(0)) << " = "
         << kindOf(op) << "::value(" << state << ");\n";
    }
  }
  if (failed(declareOps([&](Operation *op) {
        return levels.of(op->getResult(0)) ==
                   fused::LevelOf{Level::row, false} &&
               !fused::isOnlyHinted(op->getResult(0)) &&
               isUsedInWalk(op->getResult(0)) &&
               phases.lookup(op->getResult(0)) == phase;
      })))
    return failure();
  return emitElements(phase);
}

void RowsEmitter::declareRowInputs() {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::row || argument.use_empty() ||
        fused::isOnlyHinted(argument))
      continue;
    StringRef type = computedType(argument.getType());
    os << "const " << type << ' ' << scope.declare(argument)
       << " = heddle::convert<" << type << ">(" << pointers[slot]
       << "[row]);\n";
  }
}

/// What a row leaves behind: its own results, and its part of member values.
void RowsEmitter::storeRow() {
  auto yield = sweep.getSegmentYield(segment);
  // Where no reduction of the row made the threads meet, some may still be
  // about to read what is replaced.
  if (lastPhase == 0 && llvm::any_of(slots.results, [&](int slot) {
        return slot >= 0 && slots.operands[slot].index == kI &&
               slots.operands[slot].read;
      }))
    os << "__syncthreads();\n";
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (slot >= 0 && slots.operands[slot].index == kI)
      os << "if (threadIdx.x == 0)\n  " << pointers[slot]
         << "[row] = " << storedExpression(value, slots.operands[slot].storage)
         << ";\n";
  for (fused::ReduceOp op : reductions)
    if (op.getLevel() != Level::row && levels.countedBy(op) == Level::row)
      os << accumulators[op] << " = " << kindOf(op) << "::combine("
         << accumulators[op] << ", " << kindOf(op) << "::lift("
         << text(op.getValue()) << ", tile.first + row));\n";
}

/// Columns are combined over a member by its first tile alone.
LogicalResult RowsEmitter::emitColumns() {
  SmallVector<Value> roots;
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) == Level::column)
      roots.push_back(op.getValue());
  if (roots.empty())
    return success();
  os << "for (long long column = threadIdx.x; tile.first == 0 && column < "
        "tile.columns; column += "
     << layout.threads << ") {\n";
  os.indent();
  if (failed(declareSlice(roots)))
    return failure();
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) == Level::column)
      os << accumulators[op] << " = " << kindOf(op) << "::combine("
         << accumulators[op] << ", " << kindOf(op) << "::lift("
         << text(op.getValue()) << ", column));\n";
  os.unindent() << "}\n";
  return success();
}

LogicalResult RowsEmitter::emitWalk() {
  assignPhases();
  declareScalarInputs([&](Value argument) { return isUsedInWalk(argument); });
  if (failed(declareAhead()) || failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  auto overTile = [&](fused::ReduceOp op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  };
  declareAccumulators(
      [&](Operation *op) { return overTile(cast<fused::ReduceOp>(op)); });
  for (fused::ReduceOp op : reductions)
    if (int area = layout.scratchOf(op, ScratchPer::tileColumn); area >= 0)
      os << "if (tile.count == 0)\n"
         << "  for (long long column = threadIdx.x; column < tile.columns; "
            "column += "
         << layout.threads << ")\n    " << names.scratch[area]
         << "[tile.column_base + column] = " << kindOf(op) << "::neutral();\n";
  if (failed(emitColumns()))
    return failure();
  os << "for (long long row = 0; row < tile.count; ++row) {\n";
  os.indent();
  declareRowInputs();
  for (unsigned phase = 0; phase <= lastPhase; ++phase)
    if (failed(emitPhase(phase)))
      return failure();
  storeRow();
  os.unindent() << "}\n";
  storePartials();
  return success();
}

} // namespace heddle::cuda

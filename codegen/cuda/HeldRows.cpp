//===- HeldRows.cpp - rows in registers -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group of threads processes a row that fits in its registers: from one
// thread to the block, by the number of columns. It loads each element once,
// for all phases. The states and operands of columns stay in registers for the
// whole tile.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/BranchlessMath.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

namespace {
enum Cost { cheap, slowInDouble, slow };
} // namespace

/// Whether an operation takes longer than a load from registers in any type.
static bool isSlow(Operation &op) {
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
  if (isa<OP>(op))                                                             \
    return COST != cheap;
#include "dialect/ScalarOps.def"
  return false;
}

/// Whether the expression that is printed for `op` has a slow operation.
bool RowsEmitter::isPrintedSlow(Operation *op) const {
  return isSlow(*op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           Operation *part = operand.getDefiningOp();
           return part && isInlined(part) && isPrintedSlow(part);
         });
}

void RowsEmitter::beginHeldItems() {
  os << "#pragma unroll\nfor (int k = 0; k < " << heldItems << "; ++k) {\n";
  os.indent();
}

bool RowsEmitter::hasWarpForms() const {
  return !slots.columns && hasHeldEntry(sweep) && !layout.warpEntries.empty();
}

/// Declares what hasHeldColumn() compares with: the number of columns that the
/// thread has, or the end of the row.
void RowsEmitter::declarePresent() {
  present = scope.fresh(slots.columns ? "end_of_row" : "present");
  os << "const int " << present << " = heddle::reread("
     << (slots.columns ? "there ? " + group + ".end : 0" : group + ".present")
     << ");\n";
}

/// The condition that the thread has a k-th column.
std::string RowsEmitter::hasHeldColumn() const {
  return slots.columns ? "column < " + present
                       : group + ".has(k, " + present + ")";
}

void RowsEmitter::declareHeldColumn() {
  os << "const int column = " << (slots.columns ? firstColumn + " + " : "")
     << group << ".column(k);\n";
}

void RowsEmitter::beginHeldColumns() {
  beginHeldItems();
  declareHeldColumn();
}

/// Begins a loop over the rows that a thread has at the same time.
void RowsEmitter::beginRowsAtOnce() {
  os << "#pragma unroll\nfor (int " << nthRow << " = 0; " << nthRow << " < "
     << rowsAtOnce << "; ++" << nthRow << ") {\n";
  os.indent();
}

/// The same, and declares the row. A group for which no row is left loads the
/// first row of the tile again, which needs no condition.
void RowsEmitter::beginHeldRows(bool loads) {
  beginRowsAtOnce();
  bool loadsFirst = loads && !slots.columns;
  std::string nth = loadsFirst ? "wanted" : "row";
  os << "const int " << nth << " = " << firstRow << " + " << nthRow;
  if (!goesDown) // the block is one group
    os << " * " << group << ".count + " << group << ".index";
  os << ";\n";
  // A block has all rows of its tile one after the other if they are wider than
  // those that it has two at a time.
  std::string isWide =
      "Items > " +
      std::to_string(layout.wideRows == 1 ? kHeldItems : kPartItems);
  if (hasWarpForms())
    isWide = "(" + isWide + " && !Lanes)";
  isWide = slots.columns || goesDown ? "" : isWide + " || ";
  if (loadsFirst)
    os << "const int row = " << isWide << "wanted < tile.count ? wanted : 0;\n";
  else
    os << "const bool there = " << isWide << "row < tile.count;\n";
}

void RowsEmitter::endHeldRows() {
  rowPointers.clear();
  os.unindent() << "}\n";
}

/// Declares pointers to the current row of the matrices for which `wanted`
/// holds, so that the address of an element is one addition.
void RowsEmitter::declareRowPointers(
    llvm::function_ref<bool(const OperandSlot &)> wanted) {
  for (auto [slot, operand] : llvm::enumerate(slots.operands)) {
    if (operand.index != kIJ || !wanted(operand))
      continue;
    StringRef field = StringRef(pointers[slot]).split('.').second;
    std::string name = scope.fresh((field + "_row").str());
    os << "auto *const " << name << " = heddle::in_global(" << rowOf(slot)
       << (goesDown ? " + " + firstColumn : "") << ");\n";
    rowPointers[slot] = name;
  }
}

/// The elements that a thread holds of a long part.
std::string RowsEmitter::longItems() const {
  return std::to_string(runtime::longPartColumns(layout.wholeColumns) /
                        layout.threads);
}

/// The arguments of a level among `arguments`.
SmallVector<BlockArgument>
RowsEmitter::argumentsOf(Level level, ArrayRef<BlockArgument> arguments) const {
  SmallVector<BlockArgument> found;
  llvm::copy_if(arguments, std::back_inserter(found),
                [&](BlockArgument argument) {
                  return levels.of(argument).level == level &&
                         !argument.use_empty() && !isOnlyHinted(argument);
                });
  return found;
}

/// Declares the states of a thread for reductions over the row.
void RowsEmitter::declareChains(llvm::function_ref<bool(Operation *)> wanted) {
  for (fused::ReduceOp op : reductions)
    if (wanted(op)) {
      std::string name = freshFor(op, "_part");
      os << "heddle::chains<" << kindOf(op) << ", Items, Lanes, Adjacent> "
         << name << ";\n";
      accumulators[op] = name + "[k]";
    }
}

/// Combines the states of the threads of a row. Each of them has the result.
void RowsEmitter::combineHeldRow(fused::ReduceOp op) {
  std::string &state = accumulators[op];
  std::string combined = state;
  if (hasWarpForms()) {
    combined = freshFor(op, "_of_row");
    os << stateOf(op) << ' ';
  }
  os << combined << " = heddle::over_row<" << kindOf(op) << ", "
     << layout.threads << ">(" << StringRef(state).split('[').first << ", "
     << group << ");\n";
  state = combined;
}

/// Prints the work of a phase on the elements of a row.
LogicalResult RowsEmitter::emitHeldElements(unsigned phase) {
  ElementWork work = workOf(phase);
  if (work.roots.empty())
    return success();
  auto ofRow = [&](Operation *op) {
    auto reduce = cast<fused::ReduceOp>(op);
    return reduce.getLevel() == Level::row && isOfPhase(reduce, phase);
  };
  if (hasWarpForms())
    declareChains(ofRow);
  else
    declareAccumulators(ofRow);
  Slice slice = sliceOf(work.roots);
  // Later phases use slow values again.
  SmallVector<Value> kept;
  for (unsigned later = phase + 1; later <= lastPhase; ++later) {
    Slice again = sliceOf(workOf(later).roots);
    for (Operation &op : body)
      if (slice.ops.contains(&op) && again.ops.contains(&op) &&
          op.getNumResults() == 1 && !isInlined(&op) && isPrintedSlow(&op) &&
          !llvm::is_contained(kept, op.getResult(0)))
        kept.push_back(op.getResult(0));
  }
  if (isBranchless(slice)) {
    SmallVector<Value> computed = kept;
    computed.append(work.roots);
    computed = valuesIn(slice, computed);
    declareArrays(computed, "[" + heldItems + "]", "[k]");
    if (failed(emitBranchless([&] { return printHeldElements({}, slice); })))
      return failure();
    bindArrays(computed);
    if (failed(printHeldElements(work, {})))
      return failure();
    heldValues.insert(kept.begin(), kept.end());
    return success();
  }
  // Elements in shared memory have no room for others: a value takes the place
  // of the operand.
  std::string operand =
      layout.longParts ? replacedBy(kept, slice, work, phase) : "";
  if (operand.empty())
    declareArrays(kept, "[" + heldItems + "]", "[k]");
  else
    homes[kept.front()] = operand;
  if (work.reduced.empty() && kept.empty())
    declareDivisors(slice);
  if (failed(printHeldElements(work, slice)))
    return failure();
  if (!divisors.empty()) {
    std::string isExact;
    for (auto &[value, name] : divisors)
      isExact += (isExact.empty() ? "" : " && ") + name + ".exact()";
    size_t divided = divisors.size();
    divisors.clear();
    LogicalResult printed = success();
    if (divided > 1)
      isExact = "(" + isExact + ")";
    names.functions->block("if (!" + isExact + ")",
                           [&] { printed = printHeldElements(work, slice); });
    if (failed(printed))
      return failure();
  }
  heldValues.insert(kept.begin(), kept.end());
  bindArrays(kept);
  return success();
}

/// The place of the one operand of elements, if `kept` is one value that may
/// replace it: no other value of the phase `slice` needs the operand, or what
/// was computed of it for `kept`, and no later phase needs the operand. An
/// empty string otherwise.
std::string RowsEmitter::replacedBy(ArrayRef<Value> kept, const Slice &slice,
                                    const ElementWork &work, unsigned phase) {
  // An earlier value may have the place already.
  if (kept.size() != 1 || !heldValues.empty())
    return "";
  Value value = kept.front();
  llvm::DenseSet<Value> behind = fused::backwardSlice({value});
  auto isReplaced = [&](Value other) {
    return other != value && behind.contains(other) &&
           levels.of(other).level == Level::element;
  };
  for (Operation *op : slice.ops)
    if (!behind.contains(op->getResult(0)) &&
        llvm::any_of(op->getOperands(), isReplaced))
      return "";
  if (llvm::any_of(work.roots, isReplaced))
    return "";
  heldValues.insert(value);
  bool isUsed = false;
  for (unsigned later = phase + 1; later <= lastPhase; ++later)
    for (BlockArgument argument : sliceOf(workOf(later).roots).inputs)
      isUsed |= levels.of(argument).level == Level::element;
  heldValues.erase(value);
  for (BlockArgument argument : body.getArguments())
    if (!isUsed && behind.contains(argument) &&
        levels.of(argument).level == Level::element &&
        argument.getType() == value.getType())
      return scope[argument];
  return "";
}

/// Divisions of elements by a value of the row share its inverse. This has the
/// result of the division unless operands are out of range; then the thread
/// computes its elements again, with divisions.
void RowsEmitter::declareDivisors(const Slice &slice) {
  if (slots.columns)
    return;
  for (Operation &op : body) {
    if (!slice.ops.contains(&op) || !dividesByShared(&op, levels) ||
        divisors.contains(op.getOperand(1)))
      continue;
    Value by = op.getOperand(1);
    StringRef own = nameOf(by);
    std::string name = scope.fresh(("by_" + (own.empty() ? "x" : own)).str());
    os << "heddle::divisor " << name << "(" << text(by) << ");\n";
    divisors[by] = name;
  }
}

/// Prints the work of a phase on the elements that a thread holds. Values are
/// computed for columns that do not exist, too: without branches, the compiler
/// can compute several elements at a time.
LogicalResult RowsEmitter::printHeldElements(const ElementWork &work,
                                             const Slice &slice) {
  declarePresent();
  if (hasAdjacentForm())
    declareWriters(work.written, group);
  beginHeldItems();
  if (!slots.columns)
    os << "if (" << group << ".ends_before(k, " << present << "))\n  break;\n";
  declareHeldColumn();
  {
    Scope::Nested block(scope);
    if (failed(computeElement(slice, hasHeldColumn())))
      return failure();
    printHeldUses(work);
  }
  os.unindent() << "}\n";
  return success();
}

/// Prints the reductions of an element, over the row or over more, and its
/// stores. Reductions over the row have no use if there is no row.
void RowsEmitter::printHeldUses(const ElementWork &work) {
  auto reduce = [&](bool overRow) {
    for (fused::ReduceOp op : work.reduced) {
      if ((op.getLevel() == Level::row) != overRow)
        continue;
      if (op.getLevel() != Level::column) {
        accumulate(op, positionOf(op));
        continue;
      }
      std::string state = columnStates[op] + "[k]";
      os << state << " = " << kindOf(op) << "::combine(" << state << ", "
         << kindOf(op) << "::lift(" << text(op.getValue()) << ", "
         << positionOf(op) << "));\n";
    }
  };
  names.functions->block("if (" + hasHeldColumn() + ")",
                         [&] { reduce(/*overRow=*/true); });
  names.functions->block(
      (slots.columns ? "if (" : "if (there && ") + hasHeldColumn() + ")", [&] {
        reduce(/*overRow=*/false);
        if (!hasAdjacentForm())
          storeElements(work.written);
      });
  if (hasAdjacentForm())
    writeElements(work.written, "k", "there && " + hasHeldColumn());
}

/// Stores the row results, and accumulates the row's part of member values.
void RowsEmitter::storeHeldRow() {
  auto yield = sweep.getSegmentYield(segment);
  // As in storeRow: other threads may still have to read a value that is
  // replaced here.
  if (lastPhase == 0 && replacesRows())
    os << "__syncthreads();\n";
  std::string isFirst = "there && " + group + ".lane == 0" +
                        (slots.columns ? " && " + firstColumn + " == 0" : "") +
                        (layout.heldParts ? " && part_of_tile == 0" : "");
  names.functions->block("if (" + isFirst + ")", [&] {
    for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
      if (slot >= 0 && slots.operands[slot].index == kI)
        os << pointers[slot] << "[row] = "
           << storedExpression(value, slots.operands[slot].storage) << ";\n";
    for (fused::ReduceOp op : reductions)
      if (op.getLevel() != Level::row && levels.countedBy(op) == Level::row)
        accumulate(op, "tile.first + row");
  });
}

/// Prints the work of a group on one row, phase by phase.
LogicalResult RowsEmitter::emitHeldRow() {
  heldValues.clear();
  homes.clear();
  for (unsigned phase = 0; phase <= lastPhase; ++phase) {
    SmallVector<fused::ReduceOp> complete = completeRows(phase);
    for (fused::ReduceOp op : complete)
      combineHeldRow(op);
    if (layout.heldParts)
      exchangeParts(phase);
    for (fused::ReduceOp op : complete)
      declareReduced(op, accumulators[op]);
    if (failed(declareRowOps(phase)) || failed(emitHeldElements(phase)))
      return failure();
  }
  storeHeldRow();
  if (layout.heldParts)
    os << parts << ".next_row();\n";
  homes.clear();
  heldValues.clear();
  return success();
}

/// Stores the states of the columns of the tile.
void RowsEmitter::storeHeldColumns() {
  for (fused::ReduceOp op : reductions)
    if (std::string state = columnStates.lookup(op); !state.empty())
      os << "heddle::store_columns<" << kindOf(op) << ", " << layout.threads
         << ">(" << state << ", " << group << ", "
         << names.scratch[layout.scratchOf(op, ScratchPer::tileColumn)]
         << " + tile.column_base" << (goesDown ? " + " + firstColumn : "")
         << ");\n";
}

/// Declares what combines the states of columns of the units of a tall tile.
/// Returns it for each array of states.
llvm::SmallVector<std::pair<std::string, std::string>>
RowsEmitter::declareUnits() {
  llvm::SmallVector<std::pair<std::string, std::string>> units;
  // All segments of the sweep share the words.
  int64_t words = 0, before = 0;
  fused::SweepOp all = sweep;
  for (auto [s, other] : llvm::enumerate(layout.segments)) {
    int64_t ofSegment = 0;
    if (other.held.tallUnits > 1)
      for (auto op : all.getSegmentBlock(s).getOps<fused::ReduceOp>())
        ofSegment += unitWords(op, other.held.tallUnits);
    words = std::max(words, ofSegment);
  }
  for (fused::ReduceOp op : reductions)
    if (std::string states = columnStates.lookup(op); !states.empty()) {
      std::string name = freshFor(op, "_units");
      os << "heddle::units_of_tile<" << kindOf(op) << ", " << heldItems << ", "
         << slots.held.tallUnits << ", " << layout.threads << ", " << before
         << ", " << words << "> " << name << ";\n";
      before += unitWords(op, slots.held.tallUnits);
      units.push_back({name, states});
    }
  return units;
}

/// Declares the group of the thread, and the part of the row that it has.
void RowsEmitter::declareGroup() {
  group = scope.fresh("group");
  if (layout.heldParts)
    declareParts((layout.longParts ? "(Sure >= Items / 2 && Items != " +
                                         longItems() + ") || Items <= "
                                   : "Sure >= Items / 2 || Items <= ") +
                 std::to_string(kHeldItems));
  os << "heddle::row_group<" << layout.threads << ", Items, Sure"
     << (hasWarpForms()      ? ", Lanes"
         : hasAdjacentForm() ? ", 0"
                             : "")
     << (hasAdjacentForm() ? ", Adjacent" : "") << "> " << group << "("
     << (layout.heldParts ? parts : "static_cast<int>(tile.columns)") << ");\n";
  nthRow = scope.freshOwn("r");
  rowsAtOnce = scope.fresh("rows_at_once");
  heldItems = "Items";
  if (slots.columns) {
    // A thread that only maps elements need not hold its part of a row, and
    // leaves registers to the traversal of wider rows.
    heldItems = scope.fresh("items");
    os << "constexpr int " << heldItems
       << " = Items == 1 ? 1 : " << kHeldItems / 2 << ";\n";
  }
  os << "constexpr int " << rowsAtOnce << " = Items == 1 ? "
     << layout.singleRows << " : ";
  if (!slots.columns)
    os << "Items <= " << kNarrowItems << " ? " << layout.narrowRows << " : ";
  if (!slots.columns && layout.shortRows != 1)
    os << "Items == " << kHeldItems << " ? " << layout.shortRows << " : ";
  // Floats of 16 bits that are not adjacent have a register each.
  if (layout.wideRows != 1)
    os << "Items == " << kPartItems << (hasWarpForms() ? " && !Lanes" : "")
       << (loadsHalves(slots) ? " && Adjacent" : "") << " ? " << layout.wideRows
       << " : ";
  if (hasWarpForms() && hasPairedEntry(sweep, layout))
    os << "Lanes == " << kPairedLanes << " ? 2 : ";
  os << "1;\n";
}

LogicalResult RowsEmitter::emitHeldWalk() {
  assignPhases();
  declareScalarInputs([&](Value argument) { return isUsedInWalk(argument); });
  if (failed(declarePrecomputed()) || failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  declareAccumulators([&](Operation *op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  });
  if (failed(emitColumns()))
    return failure();
  firstRow = scope.fresh("first_row");
  columnStates.clear();
  SmallVector<Value> roots;
  for (unsigned phase = 0; phase <= lastPhase; ++phase)
    llvm::append_range(roots, workOf(phase).roots);
  Slice elements = sliceOf(roots);
  if (goesDown) {
    DownBatch batch = batchOf(elements, /*rowWords=*/0);
    findAdjacent(batch.columns);
    heldItems = scope.fresh("items");
    rowsAtOnce = scope.fresh("rows_at_once");
    nthRow = scope.freshOwn("r");
    firstColumn = scope.fresh("first_column");
    os << "constexpr int " << heldItems << " = " << batch.columns << ", "
       << rowsAtOnce << " = " << batch.rows << ";\n";
    beginColumnLoop(firstColumn, batch.columns * layout.threads, "0");
    declareDownGroup("tile.columns");
  } else {
    declareGroup();
  }
  // If elements are only mapped, a thread need not hold the whole row.
  if (slots.columns) {
    firstColumn = scope.fresh("first_column");
    // Rows without columns contribute to the member, too.
    os << "for (int " << firstColumn << " = 0; " << firstColumn << " == 0 || "
       << firstColumn << " < " << group << ".end; " << firstColumn
       << " += " << heldItems << " * " << group << ".lanes) {\n";
    os.indent();
  }
  SmallVector<BlockArgument> ofColumns;
  for (BlockArgument argument : elements.inputs)
    if (levels.of(argument).level == Level::column) {
      scope.forget(argument);
      std::string name = scope.declare(argument);
      os << computedType(argument.getType()) << ' ' << name << "[" << heldItems
         << "];\n";
      scope.bind(argument, name + "[k]");
      ofColumns.push_back(argument);
    }
  for (fused::ReduceOp op : reductions)
    if (layout.scratchOf(op, ScratchPer::tileColumn) >= 0) {
      columnStates[op] = freshFor(op, "_down");
      os << stateOf(op) << ' ' << columnStates[op] << "[" << heldItems
         << "];\n";
    }
  if (!ofColumns.empty() || !columnStates.empty()) {
    if (ofColumns.empty())
      beginHeldItems();
    else
      beginHeldColumns();
    for (BlockArgument argument : ofColumns)
      os << scope[argument] << " = "
         << (slots.columns ? "column < " + group + ".end"
                           : group + ".has(k, " + group + ".present)")
         << " ? " << loadOf(argument, "column") << " : 0;\n";
    for (fused::ReduceOp op : reductions)
      if (std::string state = columnStates.lookup(op); !state.empty())
        os << state << "[k] = " << kindOf(op) << "::neutral();\n";
    os.unindent() << "}\n";
  }
  llvm::SmallVector<std::pair<std::string, std::string>> units;
  if (goesDown && slots.held.tallUnits > 1)
    units = declareUnits();
  os << "for (int " << firstRow << " = 0; " << firstRow << " < tile.count; "
     << firstRow << " += " << rowsAtOnce
     << (goesDown ? "" : " * " + group + ".count") << ") {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    loadHeld(argumentsOf(Level::element, elements.inputs),
             argumentsOf(Level::row, body.getArguments()));
    beginHeldRows(/*loads=*/false);
    declareRowPointers([](const OperandSlot &slot) { return slot.written; });
    LogicalResult printed = emitHeldRow();
    endHeldRows();
    if (failed(printed))
      return failure();
  }
  if (!units.empty()) {
    // One loop over all rows: in a loop over units, loads wait for each other.
    std::string next = firstRow + " + " + rowsAtOnce;
    std::string rows = std::to_string(slots.tile);
    names.functions->block("if (tile.count > " + rows + " && ((" + next +
                               ") % " + rows + " == 0 || " + next +
                               " >= tile.count))",
                           [&] {
                             for (auto &[unit, states] : units)
                               os << unit << ".add(" << states << ");\n";
                           });
  }
  os.unindent() << "}\n";
  if (slots.columns)
    os.unindent() << "}\n";
  for (auto &[unit, states] : units)
    os << unit << ".combine(" << states << ");\n";
  storeHeldColumns();
  if (goesDown)
    os.unindent() << "}\n";
  storePartials(/*perThread=*/true);
  return success();
}

} // namespace heddle::cuda

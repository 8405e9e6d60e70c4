//===- RowsEmitter.cpp - the rows schedule --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block processes row after row, with the columns spread over its threads. It
// traverses a row once per phase: once more after each reduction whose value
// elements of the same row use. Each phase recomputes the values of earlier
// phases that it uses.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/cuda/CudaEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

void RowsEmitter::assignPhases() {
  phases.clear();
  lastPhase = lastOfElements = 0;
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
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) == Level::element)
      lastOfElements = std::max(lastOfElements, phases.lookup(op.getValue()));
  for (auto [result, value] :
       llvm::enumerate(sweep.getSegmentYield(segment).getValues()))
    if (isElementResult(result))
      lastOfElements = std::max(lastOfElements, phases.lookup(value));
}

/// The phase that stores an element result. A result in place of an operand is
/// stored after every traversal that reads the operand.
unsigned RowsEmitter::storingPhase(unsigned result) {
  Value value = sweep.getSegmentYield(segment).getValues()[result];
  return slots.operands[slots.results[result]].read ? lastOfElements
                                                    : phases.lookup(value);
}

bool RowsEmitter::isElementResult(unsigned result) const {
  int slot = slots.results[result];
  return slot >= 0 && slots.operands[slot].index == kIJ;
}

/// Whether a reduction accumulates its elements in `phase`.
bool RowsEmitter::isOfPhase(fused::ReduceOp op, unsigned phase) const {
  return levels.countedBy(op) == Level::element &&
         phases.lookup(op.getValue()) == phase;
}

/// A thread that goes down columns counts them from `firstColumn` on.
Expression RowsEmitter::positionAlong(foreach::Axis axis) const {
  if (!goesDown || axis == foreach::Axis::i)
    return SegmentEmitter::positionAlong(axis);
  std::string column = firstColumn + " + column";
  return {axis == foreach::Axis::j
              ? column
              : "(tile.first + row) * tile.columns + " + column,
          Expression::sum};
}

std::string RowsEmitter::positionOf(fused::ReduceOp op) const {
  switch (op.getLevel()) {
  case Level::row:
    return positionAlong(foreach::Axis::j).text;
  case Level::column:
    return "tile.first + row";
  default:
    return "(tile.first + row) * tile.columns + column";
  }
}

/// The arguments and operations of `wanted` levels from which `roots` are
/// computed through values of these levels.
RowsEmitter::Slice RowsEmitter::sliceOf(ArrayRef<Value> roots,
                                        ArrayRef<Level> wanted) const {
  Slice slice;
  llvm::DenseSet<Value> inputs;
  SmallVector<Value> left(roots);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!llvm::is_contained(wanted, levels.of(value).level) ||
        heldValues.contains(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op)
      inputs.insert(value);
    else if (slice.ops.insert(op).second)
      llvm::append_range(left, op->getOperands());
  }
  for (BlockArgument argument : body.getArguments())
    if (inputs.contains(argument))
      slice.inputs.push_back(argument);
  return slice;
}

/// The address of the current row of a matrix.
std::string RowsEmitter::rowOf(int slot) const {
  return pointers[slot] + " + row * " + pointers[slot + 1];
}

/// The same, or the variable that has it.
std::string RowsEmitter::pointerToRow(int slot) const {
  std::string declared = rowPointers.lookup(slot);
  return declared.empty() ? rowOf(slot) : declared;
}

/// The element of an operand in `column`; for a matrix, of the current row.
std::string RowsEmitter::elementOf(int slot, const Twine &column) const {
  if (std::string row = rowPointers.lookup(slot); !row.empty())
    return (row + "[" + column + "]").str();
  if (goesDown && slots.operands[slot].index == kJ)
    return (pointers[slot] + "[" + firstColumn + " + " + column + "]").str();
  std::string at = slots.operands[slot].index == kIJ
                       ? "row * " + pointers[slot + 1] + " + "
                       : "";
  return (pointers[slot] + "[" + at + column + "]").str();
}

/// The value of the element or column argument `argument` in `column`.
std::string RowsEmitter::loadOf(BlockArgument argument,
                                const Twine &column) const {
  int slot = slots.inputs[argument.getArgNumber()];
  return converted(elementOf(slot, column), slots.operands[slot].storage,
                   argument.getType());
}

/// Declares the values of the operations of `slice`; its arguments are in
/// scope.
LogicalResult RowsEmitter::declareSlice(const Slice &slice) {
  for (Operation *op : slice.ops)
    for (Value result : op->getResults())
      scope.forget(result);
  return declareOps([&](Operation *op) { return slice.ops.contains(op); });
}

size_t RowsEmitter::wordsOf(ArrayRef<BlockArgument> inputs) {
  size_t words = 0;
  for (BlockArgument argument : inputs)
    words += argument.getType().isF64() ? 2 : 1;
  return words;
}

/// Prints the load of `items` columns of the current row, of which `first` is
/// the first one if it is not empty, into the array `to` of `type`: the columns
/// of the object and with the further arguments `columns`.
void RowsEmitter::loadColumns(BlockArgument argument, StringRef to,
                              StringRef type, StringRef items,
                              const Twine &columns, StringRef first) {
  os << "heddle::load_columns<" << type << ", " << items << ">(" << to << ", "
     << pointerToRow(slots.inputs[argument.getArgNumber()])
     << (first.empty() ? "" : " + ") << first << ", " << columns << ");\n";
}

/// Declares the objects that store the results `written` of the current row, in
/// the columns of the object `columns`.
void RowsEmitter::declareWriters(ArrayRef<unsigned> written,
                                 StringRef columns) {
  writers.clear();
  for (unsigned result : written) {
    int slot = slots.results[result];
    const OperandSlot &operand = slots.operands[slot];
    writers[result] = scope.fresh("to_" + nameOfSlot(operand));
    os << "heddle::row_writer<" << storedType(operand.storage) << ", decltype("
       << columns << ")> " << writers[result] << "(" << pointerToRow(slot)
       << ");\n";
  }
}

/// Prints the stores of an element: the results `written`. `number` is that of
/// the column among those that the thread has at the same time.
void RowsEmitter::writeElements(ArrayRef<unsigned> written, StringRef number,
                                StringRef isThere) {
  auto yield = sweep.getSegmentYield(segment);
  for (unsigned result : written)
    os << writers[result] << ".write(" << number << ", column, "
       << text(yield.getValues()[result]) << ", " << isThere << ");\n";
}

RowsEmitter::Batch RowsEmitter::declareBatch(ArrayRef<BlockArgument> inputs,
                                             int size) {
  Batch batch;
  batch.inputs.assign(inputs.begin(), inputs.end());
  batch.size = size;
  batch.k = scope.freshOwn("k");
  batch.first = scope.freshOwn("n");
  batch.prefetch = scope.fresh("prefetch");
  batch.loop = ("#pragma unroll\nfor (int " + batch.k + " = 0; " + batch.k +
                " < " + Twine(size) + "; ++" + batch.k + ") {\n")
                   .str();
  for (BlockArgument argument : inputs) {
    StringRef own = nameOf(argument);
    batch.loaded[argument] =
        scope.fresh(("next_" + (own.empty() ? "x" : own)).str());
    os << computedType(argument.getType()) << ' ' << batch.loaded[argument]
       << "[" << size << "];\n";
  }
  return batch;
}

/// Prints a function that loads the operands of a batch of `columns`.
void RowsEmitter::emitPrefetch(const Batch &batch, StringRef columns) {
  if (batch.inputs.empty())
    return;
  os << "const auto " << batch.prefetch << " = [&](long long " << batch.first
     << ") {\n";
  os.indent();
  SmallVector<BlockArgument> single;
  for (BlockArgument argument : batch.inputs)
    if (levels.of(argument).level == Level::element)
      loadColumns(argument, batch.loaded.lookup(argument),
                  computedType(argument.getType()), std::to_string(batch.size),
                  columns + ", 0, " + batch.first);
    else
      single.push_back(argument);
  if (!single.empty()) {
    os << batch.loop;
    os.indent();
    for (BlockArgument argument : single)
      os << batch.loaded.lookup(argument) << "[" << batch.k << "] = " << columns
         << ".has(" << batch.first << " + " << batch.k << ") ? "
         << loadOf(argument,
                   columns + ".column(" + batch.first + " + " + batch.k + ")")
         << " : 0;\n";
    os.unindent() << "}\n";
  }
  os.unindent() << "};\n";
}

/// Moves the loaded operands to the current batch, and loads the operands of
/// `next`.
void RowsEmitter::takePrefetched(const Batch &batch, StringRef next) {
  if (batch.inputs.empty())
    return;
  for (BlockArgument argument : batch.inputs) {
    std::string name = scope.declare(argument);
    os << computedType(argument.getType()) << ' ' << name << "[" << batch.size
       << "];\n";
    scope.bind(argument, name + "[" + batch.k + "]");
  }
  os << batch.loop;
  os.indent();
  for (BlockArgument argument : batch.inputs)
    os << scope[argument] << " = " << batch.loaded.lookup(argument) << "["
       << batch.k << "];\n";
  os.unindent() << "}\n"
                << batch.prefetch << "(" << next << ");\n"
                << "heddle::keep_order();\n";
}

/// The reductions that accumulate elements and the results that are stored in
/// `phase`, with the values that they use.
RowsEmitter::ElementWork RowsEmitter::workOf(unsigned phase) {
  ElementWork work;
  auto yield = sweep.getSegmentYield(segment);
  for (fused::ReduceOp op : reductions)
    if (isOfPhase(op, phase)) {
      work.reduced.push_back(op);
      work.roots.push_back(op.getValue());
    }
  for (auto [result, value] : llvm::enumerate(yield.getValues()))
    if (isElementResult(result) && storingPhase(result) == phase) {
      work.written.push_back(result);
      work.roots.push_back(value);
    }
  return work;
}

/// Prints the stores of an element: the results `written`.
void RowsEmitter::storeElements(ArrayRef<unsigned> written) {
  auto yield = sweep.getSegmentYield(segment);
  for (unsigned result : written) {
    int slot = slots.results[result];
    os << elementOf(slot, "column") << " = "
       << storedExpression(yield.getValues()[result],
                           slots.operands[slot].storage)
       << ";\n";
  }
}

/// Prints the reductions of an element of a batch.
void RowsEmitter::printBatchUses(ArrayRef<fused::ReduceOp> reduced) {
  for (fused::ReduceOp op : reduced) {
    if (op.getLevel() == Level::column) {
      std::string lifted = kindOf(op) + "::lift(" + text(op.getValue()) + ", " +
                           positionOf(op) + ")";
      std::string area =
          names.scratch[layout.scratchOf(op, ScratchPer::tileColumn)] +
          "[tile.column_base + column]";
      os << area << " = row == 0 ? " << lifted << " : " << kindOf(op)
         << "::combine(" << area << ", " << lifted << ");\n";
      continue;
    }
    accumulate(op, positionOf(op));
  }
}

LogicalResult RowsEmitter::emitElements(unsigned phase) {
  auto [taken, written, roots] = workOf(phase);
  if (roots.empty())
    return success();
  declareAccumulators([&](Operation *op) {
    auto reduce = cast<fused::ReduceOp>(op);
    return reduce.getLevel() == Level::row && isOfPhase(reduce, phase);
  });
  // The operands of a batch are loaded while the previous batch is processed,
  // before that batch stores anything.
  Scope::Nested block(scope);
  bool isBraced = lastPhase > 0; // a phase may reuse the names of another
  if (isBraced) {
    os << "{\n";
    os.indent();
  }
  Slice slice = sliceOf(roots);
  if (layout.severalParts) {
    if (failed(emitReducedParts(taken.front(), slice)))
      return failure();
    if (isBraced)
      os.unindent() << "}\n";
    return success();
  }
  Batch batch = declareBatch(slice.inputs, columnBatch(wordsOf(slice.inputs)));
  std::string columns = scope.fresh("columns"), begin = "0",
              end = "tile.columns", part;
  llvm::DenseMap<Operation *, std::string> ofRow;
  SmallVector<fused::ReduceOp> overRow;
  llvm::copy_if(taken, std::back_inserter(overRow),
                [](fused::ReduceOp op) { return op.getLevel() == Level::row; });
  bool inParts = layout.rowParts || !overRow.empty();
  if (inParts) {
    part = scope.fresh("part");
    begin = parts + ".begin(" + part + ")";
    end = parts + ".end(" + part + ")";
    for (fused::ReduceOp op : overRow) {
      ofRow[op] = freshFor(op, "_of_row");
      os << stateOf(op) << ' ' << ofRow[op] << " = " << kindOf(op)
         << "::neutral();\n";
    }
    os << "for (int " << part << " = " << parts << ".first; " << part << " < "
       << parts << ".count; " << part << " += " << parts << ".step) {\n";
    os.indent();
    for (fused::ReduceOp op : overRow)
      os << accumulators[op] << " = " << kindOf(op) << "::neutral();\n";
  }
  os << "const heddle::walked_columns<" << layout.threads << ", " << batch.size
     << ", Adjacent> " << columns << "(" << begin << ", " << end << ");\n";
  declareWriters(written, columns);
  emitPrefetch(batch, columns);
  if (!batch.inputs.empty())
    os << batch.prefetch << "(0);\n";
  if (computesRowsAfterLoads() && failed(declareRowOps(phase)))
    return failure();
  std::string size = std::to_string(batch.size);
  os << "for (long long " << batch.first << " = 0; " << columns << ".has("
     << batch.first << "); " << batch.first << " += " << size << ") {\n";
  os.indent();
  takePrefetched(batch, batch.first + " + " + size);
  auto overBatch = [&](llvm::function_ref<LogicalResult()> body) {
    os << batch.loop;
    os.indent();
    os << "const long long column = " << columns << ".column(" << batch.first
       << " + " << batch.k << ");\n"
       << "if (column >= " << columns << ".end)\n  break;\n";
    Scope::Nested nested(scope);
    if (failed(body()))
      return failure();
    os.unindent() << "}\n";
    return success();
  };
  bool isBranchlessBatch = isBranchless(slice);
  if (isBranchlessBatch) {
    SmallVector<Value> computed = valuesIn(slice, roots);
    declareArrays(computed, "[" + std::to_string(batch.size) + "]",
                  "[" + batch.k + "]");
    if (failed(emitBranchless(
            [&] { return overBatch([&] { return computeElement(slice); }); })))
      return failure();
    bindArrays(computed);
  }
  if (failed(overBatch([&]() -> LogicalResult {
        if (!isBranchlessBatch && failed(declareSlice(slice)))
          return failure();
        printBatchUses(taken);
        writeElements(written, batch.k, "true");
        return success();
      })))
    return failure();
  os.unindent() << "}\n";
  if (inParts) {
    for (fused::ReduceOp op : overRow) {
      std::string own = accumulators[op];
      os << own << " = heddle::over_block<" << kindOf(op) << ", "
         << layout.threads << ">(" << own << ");\n"
         << "if (threadIdx.x == " << part << ")\n  " << ofRow[op] << " = "
         << own << ";\n";
    }
    os.unindent() << "}\n";
    for (fused::ReduceOp op : overRow)
      os << "if (" << parts << ".has_several())\n  " << accumulators[op]
         << " = heddle::over_block<" << kindOf(op) << ", " << layout.threads
         << ">(" << ofRow[op] << ");\n";
  }
  if (isBraced)
    os.unindent() << "}\n";
  return success();
}

/// The reductions of a row that are complete when `phase` begins.
SmallVector<fused::ReduceOp> RowsEmitter::completeRows(unsigned phase) const {
  SmallVector<fused::ReduceOp> complete;
  llvm::copy_if(reductions, std::back_inserter(complete),
                [&](fused::ReduceOp op) {
                  return op.getLevel() == Level::row &&
                         phases.lookup(op.getResult(0)) == phase;
                });
  return complete;
}

/// The scratch area in which blocks exchange the states of a reduction.
std::string RowsEmitter::sentStates(fused::ReduceOp op) const {
  return names.scratch[layout.scratchOf(op, ScratchPer::rowPart)];
}

/// Declares the parts of the rows of the tile that this block has.
void RowsEmitter::declareParts(StringRef isNarrow) {
  parts = scope.fresh("parts");
  if (layout.severalParts && isNarrow.empty()) {
    os << "heddle::several_parts " << parts << "(tile.columns, "
       << layout.wholeColumns << ", params.table, part_of_tile);\n";
  } else {
    os << "heddle::row_parts" << (hasClusterEntry(sweep) ? "<Clusters> " : " ")
       << parts << "(tile.columns, " << layout.wholeColumns
       << ", params.table.blocks_per_tile, part_of_tile"
       << (isNarrow.empty() ? "" : ", ") << isNarrow;
    if (layout.longParts)
      os << (isNarrow.empty() ? ", false" : "") << ", true";
    os << ");\n";
  }
  fused::ReduceOp first = *llvm::find_if(reductions, [](fused::ReduceOp op) {
    return op.getLevel() == Level::row;
  });
  os << "heddle::begin_exchanges<" << stateOf(first) << ">(" << parts << ", "
     << sentStates(first) << ", tile_index);\n";
}

/// Combines the states of the parts of a row, if blocks divide it.
void RowsEmitter::exchangeParts(unsigned phase) {
  SmallVector<fused::ReduceOp> complete = completeRows(phase);
  if (complete.empty())
    return;
  os << "if (" << parts << ".is_divided()) {\n";
  os.indent();
  // The first block stores row results when it has the states of all blocks. If
  // they replace values, all threads must have read these before.
  if (replacesRows())
    os << "heddle::fence();\n__syncthreads();\n";
  // Without elements to compute, only the block that stores row results needs
  // the states of the others. These must not get two rows ahead of it.
  bool allReceive = phase < lastPhase || !workOf(phase).roots.empty();
  StringRef receives = allReceive ? "" : ", tile.count > 1";
  for (fused::ReduceOp op : complete)
    os << accumulators[op] << " = heddle::over_parts<" << kindOf(op) << ", "
       << layout.threads << ">(" << accumulators[op] << ", " << sentStates(op)
       << ", " << parts << ", tile_index" << receives << ");\n";
  os.unindent() << "}\n";
}

/// Computes the values of the row that `phase` needs, apart from reductions.
LogicalResult RowsEmitter::declareRowOps(unsigned phase) {
  return declareOps([&](Operation *op) {
    return levels.of(op->getResult(0)) == fused::LevelOf{Level::row, false} &&
           !isOnlyHinted(op->getResult(0)) && isUsedInWalk(op->getResult(0)) &&
           phases.lookup(op->getResult(0)) == phase;
  });
}

/// Whether a walk computes the values of a row after it has begun to load the
/// elements, because elements alone need them. Otherwise the first loads would
/// wait for roots and divisions, which have branches.
bool RowsEmitter::computesRowsAfterLoads() {
  return lastPhase == 0 && !layout.rowParts && !workOf(0).roots.empty() &&
         llvm::none_of(reductions,
                       [&](fused::ReduceOp op) {
                         return op.getLevel() == Level::row ||
                                levels.countedBy(op) == Level::row;
                       }) &&
         llvm::none_of(slots.results, [&](int slot) {
           return slot >= 0 && slots.operands[slot].index == kI;
         });
}

LogicalResult RowsEmitter::emitPhase(unsigned phase) {
  // Row values that the reductions of the previous phase completed.
  if (layout.rowParts)
    exchangeParts(phase);
  for (fused::ReduceOp op : completeRows(phase))
    declareReduced(op, accumulators[op]);
  if (!computesRowsAfterLoads() && failed(declareRowOps(phase)))
    return failure();
  return emitElements(phase);
}

void RowsEmitter::declareRowInputs() {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::row || argument.use_empty() ||
        isOnlyHinted(argument))
      continue;
    os << "const " << computedType(argument.getType()) << ' '
       << scope.declare(argument) << " = "
       << converted(pointers[slot] + "[row]", slots.operands[slot].storage,
                    argument.getType())
       << ";\n";
  }
}

/// Whether a row result replaces a row value that the segment reads.
bool RowsEmitter::replacesRows() const {
  return llvm::any_of(slots.results, [&](int slot) {
    return slot >= 0 && slots.operands[slot].index == kI &&
           slots.operands[slot].read;
  });
}

/// Stores the row results, and accumulates the row's part of member values.
void RowsEmitter::storeRow() {
  auto yield = sweep.getSegmentYield(segment);
  // If no reduction of the row has synchronized the threads, some may still
  // have to read a value that is replaced here.
  if (lastPhase == 0 && replacesRows())
    os << "__syncthreads();\n";
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (slot >= 0 && slots.operands[slot].index == kI)
      os << "if (" << isFirstThread() << ")\n  " << pointers[slot]
         << "[row] = " << storedExpression(value, slots.operands[slot].storage)
         << ";\n";
  for (fused::ReduceOp op : reductions)
    if (op.getLevel() != Level::row && levels.countedBy(op) == Level::row)
      accumulate(op, "tile.first + row");
}

/// Prints the reduction of column values, in the first tile of a member.
LogicalResult RowsEmitter::emitColumns() {
  SmallVector<Value> roots;
  for (fused::ReduceOp op : reductions)
    if (reducesColumnsBefore(op))
      roots.push_back(op.getValue());
  if (roots.empty())
    return success();
  // These are the columns of the member, not those of a batch.
  llvm::SaveAndRestore ofMember(goesDown, false);
  os << "for (long long column = threadIdx.x; tile.first == 0 && "
     << (layout.rowParts ? "part_of_tile == 0 && " : "")
     << "column < tile.columns; column += " << layout.threads << ") {\n";
  os.indent();
  Scope::Nested block(scope);
  Slice slice = sliceOf(roots);
  for (BlockArgument argument : slice.inputs) {
    scope.forget(argument);
    os << "const " << computedType(argument.getType()) << ' '
       << scope.declare(argument) << " = " << loadOf(argument, "column")
       << ";\n";
  }
  if (failed(declareSlice(slice)))
    return failure();
  for (fused::ReduceOp op : reductions)
    if (reducesColumnsBefore(op))
      accumulate(op, "column");
  os.unindent() << "}\n";
  return success();
}

/// Declares the values of the member and of the list that the traversal uses.
LogicalResult RowsEmitter::declareMemberValues() {
  declareScalarInputs([&](Value argument) { return isUsedInWalk(argument); });
  if (failed(declarePrecomputed()))
    return failure();
  return declareOps([&](Operation *op) {
    fused::LevelOf level = levels.of(op->getResult(0));
    return !level.after && level.level <= Level::member &&
           isUsedInWalk(op->getResult(0));
  });
}

LogicalResult RowsEmitter::emitWalk() {
  if (!slots.columns && goesDownColumns(slots, sweep, segment))
    return emitDownWalk();
  assignPhases();
  if (failed(declareMemberValues()))
    return failure();
  if (slots.columns)
    return emitSharedWalk();
  auto overTile = [&](fused::ReduceOp op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  };
  declareAccumulators(
      [&](Operation *op) { return overTile(cast<fused::ReduceOp>(op)); });
  // A tile without rows has columns, too.
  for (fused::ReduceOp op : reductions)
    if (int area = layout.scratchOf(op, ScratchPer::tileColumn); area >= 0)
      os << "if (tile.count == 0)\n"
         << "  for (long long column = threadIdx.x; column < tile.columns; "
            "column += "
         << layout.threads << ")\n    " << names.scratch[area]
         << "[tile.column_base + column] = " << kindOf(op) << "::neutral();\n";
  if (failed(emitColumns()))
    return failure();
  if (goesAcross())
    return emitAcrossWalk();
  if (layout.rowParts) {
    declareParts();
  } else if (llvm::any_of(reductions, [](fused::ReduceOp op) {
               return op.getLevel() == Level::row;
             })) {
    parts = scope.fresh("parts");
    os << "const heddle::row_parts " << parts << "(tile.columns, "
       << layout.wholeColumns << ", 1, 0);\n";
  }
  os << "for (long long row = 0; row < tile.count; ++row) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    declareRowInputs();
    for (unsigned phase = 0; phase <= lastPhase; ++phase)
      if (failed(emitPhase(phase)))
        return failure();
    storeRow();
    if (layout.rowParts)
      os << parts << ".next_row();\n";
  }
  os.unindent() << "}\n";
  storePartials();
  return success();
}

} // namespace heddle::cuda

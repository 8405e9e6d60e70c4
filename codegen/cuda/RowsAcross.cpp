//===- RowsAcross.cpp - wide rows whose columns are reduced, too ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread goes down a few columns through several rows of the tile, then down
// the next columns. So it keeps the states of these rows for all columns, and
// the states of the columns for these rows. Row by row, each element would
// replace the state of its column in memory.
//
//   for the next rows of the tile
//     for each part of these rows
//       for the next columns of the part
//         load the elements of these rows and columns
//         reduce them over rows and columns
//       combine the states of the threads for each row
//     complete the rows
//
// A thread has the elements of a row and of a column in the same order as row
// by row.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// Whether elements are processed once, and are reduced over rows and columns
/// only.
bool RowsEmitter::goesAcross() const {
  bool overRows = false;
  for (fused::ReduceOp op : reductions) {
    bool ofRow = op.getLevel() == Level::row;
    if (levels.countedBy(op) == Level::element && !ofRow &&
        op.getLevel() != Level::column)
      return false;
    overRows |= ofRow;
  }
  return overRows && slots.tickets >= 0 && lastOfElements == 0 &&
         !layout.rowParts && rowStateWords(sweep) <= kFewAcrossWords;
}

/// Loads the operands of the columns of a batch, and the states that the rows
/// before have left.
void RowsEmitter::beginAcrossColumns(const Slice &elements) {
  SmallVector<BlockArgument> ofColumns =
      argumentsOf(Level::column, elements.inputs);
  for (BlockArgument argument : ofColumns) {
    scope.forget(argument);
    std::string name = scope.declare(argument);
    os << computedType(argument.getType()) << ' ' << name << "[" << heldItems
       << "];\n";
    scope.bind(argument, name + "[k]");
  }
  columnStates.clear();
  for (fused::ReduceOp op : reductions)
    if (layout.scratchOf(op, ScratchPer::tileColumn) >= 0) {
      columnStates[op] = freshFor(op, "_down");
      os << stateOf(op) << ' ' << columnStates[op] << "[" << heldItems
         << "];\n";
    }
  beginHeldItems();
  os << "const int column = " << group << ".nearest(k);\n";
  for (BlockArgument argument : ofColumns)
    os << scope[argument] << " = " << loadOf(argument, "column") << ";\n";
  for (fused::ReduceOp op : reductions)
    if (std::string state = columnStates.lookup(op); !state.empty())
      os << state << "[k] = " << firstRow << " == 0 ? " << kindOf(op)
         << "::neutral() : "
         << names.scratch[layout.scratchOf(op, ScratchPer::tileColumn)]
         << "[tile.column_base + " << firstColumn << " + column];\n";
  os.unindent() << "}\n";
}

/// Computes the values of rows whose reductions are complete, and stores their
/// results.
LogicalResult RowsEmitter::emitAcrossRows() {
  beginRowsAtOnce();
  os << "const int row = " << firstRow << " + " << nthRow << ";\n"
     << "if (row >= tile.count)\n  break;\n";
  Scope::Nested block(scope);
  for (fused::ReduceOp op : reductions)
    if (op.getLevel() == Level::row)
      declareReduced(op, accumulators[op]);
  if (failed(declareOps([&](Operation *op) {
        return levels.of(op->getResult(0)) ==
                   fused::LevelOf{Level::row, false} &&
               !isOnlyHinted(op->getResult(0)) &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  storeRow();
  os.unindent() << "}\n";
  return success();
}

LogicalResult RowsEmitter::emitAcrossWalk() {
  ElementWork work = workOf(0);
  Slice elements = sliceOf(work.roots);
  goesDown = isAcross = true;
  firstRow = scope.fresh("first_row");
  nthRow = scope.freshOwn("r");
  firstColumn = scope.fresh("first_column");
  heldItems = "Items";
  rowsAtOnce = "Rows";
  unsigned rowWords = 2 * rowStateWords(sweep);
  across = {batchOf(elements, rowWords, kAcrossBatch),
            batchOf(elements, rowWords, kFewRowsBatch)};
  parts = scope.fresh("parts");
  os << "const heddle::row_parts " << parts << "(tile.columns, "
     << layout.wholeColumns << ", 1, 0);\n"
     << "for (int " << firstRow << " = 0; " << firstRow << " < tile.count; "
     << firstRow << " += " << rowsAtOnce << ") {\n";
  os.indent();
  Scope::Nested rows(scope);
  loadHeld({}, argumentsOf(Level::row, body.getArguments()));
  SmallVector<fused::ReduceOp> overRows;
  llvm::DenseMap<Operation *, std::string> ofParts, ofPart;
  for (fused::ReduceOp op : reductions) {
    if (op.getLevel() != Level::row)
      continue;
    overRows.push_back(op);
    ofPart[op] = freshFor(op, "_part");
    ofParts[op] = freshFor(op, "_of_parts");
    accumulators[op] = ofPart[op] + "[" + nthRow + "]";
    os << stateOf(op) << ' ' << ofPart[op] << "[" << rowsAtOnce << "], "
       << ofParts[op] << "[" << rowsAtOnce << "];\n";
  }
  auto forEachRow = [&](llvm::function_ref<void()> body) {
    beginRowsAtOnce();
    body();
    os.unindent() << "}\n";
  };
  auto at = [&](StringRef states) {
    return (states + "[" + nthRow + "]").str();
  };
  auto combine = [&](StringRef states, fused::ReduceOp op) {
    os << "heddle::over_block<" << kindOf(op) << ", " << layout.threads << ">("
       << states << ");\n";
  };
  forEachRow([&] {
    for (fused::ReduceOp op : overRows)
      os << at(ofParts[op]) << " = " << kindOf(op) << "::neutral();\n";
  });
  std::string part = scope.fresh("part");
  os << "for (int " << part << " = 0; " << part << " < " << parts
     << ".count; ++" << part << ") {\n";
  os.indent();
  forEachRow([&] {
    for (fused::ReduceOp op : overRows)
      os << at(ofPart[op]) << " = " << kindOf(op) << "::neutral();\n";
  });
  os << "for (long long " << firstColumn << " = " << parts << ".begin(" << part
     << "); " << firstColumn << " < " << parts << ".end(" << part << "); "
     << firstColumn << " += " << heldItems << " * " << layout.threads
     << ") {\n";
  os.indent();
  {
    Scope::Nested columns(scope);
    declareDownGroup(parts + ".end(" + part + ")");
    beginAcrossColumns(elements);
    loadHeld(argumentsOf(Level::element, elements.inputs), {});
    beginHeldRows(/*loads=*/false);
    declareRowPointers([](const OperandSlot &slot) { return slot.written; });
    LogicalResult printed = declareOps([&](Operation *op) {
      return levels.of(op->getResult(0)) == fused::LevelOf{Level::row, false} &&
             !isOnlyHinted(op->getResult(0)) &&
             isUsedInWalk(op->getResult(0)) &&
             phases.lookup(op->getResult(0)) == 0;
    });
    if (succeeded(printed))
      printed = printHeldElements(work, elements);
    endHeldRows();
    if (failed(printed))
      return failure();
    storeHeldColumns();
  }
  os.unindent() << "}\n";
  for (fused::ReduceOp op : overRows)
    combine(ofPart[op], op);
  forEachRow([&] {
    for (fused::ReduceOp op : overRows)
      os << "if (threadIdx.x == " << part << ")\n  " << at(ofParts[op]) << " = "
         << at(ofPart[op]) << ";\n";
  });
  os.unindent() << "}\n";
  os << "if (" << parts << ".has_several()) {\n";
  os.indent();
  for (fused::ReduceOp op : overRows)
    combine(ofParts[op], op);
  forEachRow([&] {
    for (fused::ReduceOp op : overRows)
      os << at(ofPart[op]) << " = " << at(ofParts[op]) << ";\n";
  });
  os.unindent() << "}\n";
  if (failed(emitAcrossRows()))
    return failure();
  os.unindent() << "}\n";
  goesDown = isAcross = false;
  storePartials();
  return success();
}

} // namespace heddle::cuda

//===- RowsDown.cpp - columns of a row tile -------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If nothing is reduced over rows, a thread need not complete a row before it
// begins the next: it goes down a few columns through all rows of the tile and
// keeps their states in registers. It loads several rows at a time, as a group
// of threads does with narrow rows (HeldRows.cpp). Elements of 16 bits are
// loaded as vectors of adjacent columns, if they are aligned.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

LogicalResult RowsEmitter::emitDownWalk() {
  goesDown = true;
  LogicalResult printed = emitHeldWalk();
  goesDown = false;
  return printed;
}

/// How many columns a thread holds at a time, and how many rows: `batch`, or
/// fewer. It holds `rowWords` words of each row besides elements.
DownBatch RowsEmitter::batchOf(const Slice &elements, unsigned rowWords,
                               DownBatch batch) const {
  size_t columnWords = wordsOf(argumentsOf(Level::column, elements.inputs));
  for (fused::ReduceOp op : reductions)
    if (layout.scratchOf(op, ScratchPer::tileColumn) >= 0)
      columnWords += stateBytes(op.getKind(), op.getValue().getType()) / 4;
  return downBatch(batch, wordsOf(argumentsOf(Level::element, elements.inputs)),
                   columnWords, rowWords);
}

/// The condition under which every matrix can be accessed as vectors of
/// `columns` elements.
std::string RowsEmitter::haveVectors(int64_t columns) const {
  std::string condition;
  for (auto [slot, operand] : llvm::enumerate(slots.operands))
    if (operand.index == kIJ)
      condition +=
          (condition.empty() ? "" : " && ") +
          ("heddle::has_vectors<" + Twine(columns) + ">(tile.columns, " +
           pointers[slot] + ", " + pointers[slot + 1] + ")")
              .str();
  return condition;
}

/// Sets the condition under which threads have adjacent columns, `columns` at a
/// time, if they may.
void RowsEmitter::findAdjacent(int64_t columns) {
  whenAdjacent.clear();
  if (columns > 1 && hasAdjacentColumns(sweep, slots, segment))
    whenAdjacent = haveVectors(columns);
}

/// The type of the `columns` elements that a thread has of a row, as they are
/// stored.
std::string RowsEmitter::columnsOfRow(Type storage, const Twine &columns) {
  return ("heddle::columns_of_row<" + storedType(storage) + ", " + columns +
          ", Adjacent>")
      .str();
}

/// Declares the block as a group that has the columns before `end`, if its
/// threads can hold them.
void RowsEmitter::declareDownGroup(StringRef end) {
  group = scope.fresh("group");
  bool hasParameter = isAcross || !whenAdjacent.empty();
  os << "const auto " << group
     << " = heddle::" << (whenAdjacent.empty() ? "group" : "columns")
     << "_of_block<" << layout.threads << ", " << heldItems
     << (hasParameter ? ", Adjacent" : "") << ">(" << end << " - "
     << firstColumn << ");\n";
}

} // namespace heddle::cuda

//===- RowsDown.cpp - columns of a row tile -------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If nothing is reduced over rows, a thread need not complete a row before it
// begins the next: it goes down a few columns through all rows of the tile and
// keeps their states in registers. It loads several rows at a time, as a group
// of threads does with narrow rows (HeldRows.cpp).
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

/// Begins a loop over the columns of the block, and declares the block as a
/// group that has as many of them as its threads hold at a time.
void RowsEmitter::beginDownColumns(const Slice &elements) {
  SmallVector<BlockArgument> ofElements, ofColumns;
  for (BlockArgument argument : elements.inputs)
    (levels.of(argument).level == Level::column ? ofColumns : ofElements)
        .push_back(argument);
  size_t columnWords = wordsOf(ofColumns);
  for (fused::ReduceOp op : reductions)
    if (layout.scratchOf(op, ScratchPer::tileColumn) >= 0)
      columnWords += stateBytes(op.getKind(), op.getValue().getType()) / 4;
  DownBatch batch = downBatch(wordsOf(ofElements), columnWords);
  heldItems = scope.fresh("items");
  rowsAtOnce = scope.fresh("rows_at_once");
  nthRow = scope.freshOwn("r");
  os << "constexpr int " << heldItems << " = " << batch.columns << ", "
     << rowsAtOnce << " = " << batch.rows << ";\n";
  firstColumn = scope.fresh("first_column");
  beginColumnLoop(firstColumn, batch.columns * layout.threads, "0");
  group = scope.fresh("group");
  os << "const auto " << group << " = heddle::group_of_block<" << layout.threads
     << ", " << heldItems << ">(tile.columns - " << firstColumn << ");\n";
}

} // namespace heddle::cuda

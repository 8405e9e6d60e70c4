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

/// Declares the block as a group that has the columns before `end`, if its
/// threads can hold them.
void RowsEmitter::declareDownGroup(StringRef end) {
  group = scope.fresh("group");
  os << "const auto " << group << " = heddle::group_of_block<" << layout.threads
     << ", " << heldItems << ">(" << end << " - " << firstColumn << ");\n";
}

} // namespace heddle::cuda

//===- RowsDown.cpp - columns of a row tile -------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If nothing is reduced over rows, a thread need not complete a row before it
// begins the next: it goes down some columns through all rows of the tile and
// keeps their states in registers.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

LogicalResult RowsEmitter::emitDownWalk() {
  declareAccumulators([&](Operation *op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  });
  if (failed(emitColumns()))
    return failure();
  SmallVector<fused::ReduceOp> taken;
  SmallVector<Value> roots;
  for (fused::ReduceOp op : reductions)
    if (op.getLevel() == Level::column) {
      taken.push_back(op);
      roots.push_back(op.getValue());
    }
  Slice slice = sliceOf(roots);
  SmallVector<BlockArgument> ofElements, ofColumns;
  for (BlockArgument argument : slice.inputs)
    (levels.of(argument).level == Level::column ? ofColumns : ofElements)
        .push_back(argument);
  size_t words = wordsOf(slice.inputs);
  for (fused::ReduceOp op : taken)
    words += stateBytes(op.getKind(), op.getValue().getType()) / 4;
  Scope::Nested block(scope);
  std::string first = scope.fresh("first_column");
  int size = columnBatch(words, kMostHeldWords);
  beginColumnLoop(first, size * layout.threads);
  // A row is loaded while the previous row is processed.
  Batch batch = declareBatch(ofElements, size);
  std::string nth = nthColumn(first, batch);
  auto beginColumns = [&] {
    os << batch.loop;
    os.indent();
    os << "const long long column = " << nth << ";\n";
  };
  auto endColumns = [&] { os.unindent() << "}\n"; };
  llvm::DenseMap<Operation *, std::string> down;
  for (fused::ReduceOp op : taken) {
    down[op] = freshFor(op, "_down");
    os << stateOf(op) << ' ' << down[op] << '[' << size << "];\n";
  }
  for (BlockArgument argument : ofColumns) {
    scope.forget(argument);
    std::string name = scope.declare(argument);
    os << computedType(argument.getType()) << ' ' << name << '[' << size
       << "];\n";
    scope.bind(argument, name + "[" + batch.k + "]");
  }
  os << batch.loop;
  os.indent();
  if (!ofColumns.empty())
    os << "const long long column = " << nth << ";\n";
  for (fused::ReduceOp op : taken)
    os << down[op] << '[' << batch.k << "] = " << kindOf(op)
       << "::neutral();\n";
  for (BlockArgument argument : ofColumns)
    os << scope[argument] << " = column < tile.columns ? "
       << loadOf(argument, "column") << " : 0;\n";
  endColumns();
  emitPrefetch(batch, "row", nth, "row < tile.count && column < tile.columns");
  if (!ofElements.empty())
    os << batch.prefetch << "(0);\n";
  os << "for (long long row = 0; row < tile.count; ++row) {\n";
  os.indent();
  takePrefetched(batch, "row + 1");
  declareRowInputs();
  if (failed(declareOps([&](Operation *op) {
        return levels.of(op->getResult(0)) ==
                   fused::LevelOf{Level::row, false} &&
               !isOnlyHinted(op->getResult(0)) &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  beginColumns();
  os << "if (column >= tile.columns)\n  break;\n";
  if (failed(declareSlice(slice)))
    return failure();
  for (fused::ReduceOp op : taken) {
    std::string part = down[op] + "[" + batch.k + "]";
    std::string lifted = kindOf(op) + "::lift(" + text(op.getValue()) + ", " +
                         positionOf(op) + ")";
    os << part << " = row == 0 ? " << lifted << " : " << kindOf(op)
       << "::combine(" << part << ", " << lifted << ");\n";
  }
  endColumns();
  os.unindent() << "}\n";
  beginColumns();
  os << "if (column >= tile.columns)\n  break;\n";
  for (fused::ReduceOp op : taken)
    os << names.scratch[layout.scratchOf(op, ScratchPer::tileColumn)]
       << "[tile.column_base + column] = " << down[op] << '[' << batch.k
       << "];\n";
  endColumns();
  os.unindent() << "}\n";
  storePartials();
  return success();
}

} // namespace heddle::cuda

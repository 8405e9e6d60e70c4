//===- SharedRows.cpp - rows that several blocks share --------------------===//
//
// A sweep that only maps elements needs no block to see a whole row. Each takes
// some columns of a few rows, all asked for at once, and neighbouring blocks
// take neighbouring memory. What rows and columns leave behind for the member
// is left to the last of the blocks that share a tile.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

int RowsEmitter::sharedBlocks(fused::SweepOp sweep, const SweepLayout &layout) {
  // Registers for a batch (see FusedSchedule) and its addresses; exponentials
  // and divisions in double take more, and so may what shares no rows.
  int blocks = 6;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    if (!segment.columns) {
      blocks = std::min(blocks, 4);
      continue;
    }
    auto levels = fused::Levels::infer(sweep, s);
    for (Value value : fused::behind(fused::elementResults(sweep, s)))
      if (succeeded(levels) && levels->of(value).level > Level::member &&
          value.getType().getIntOrFloatBitWidth() == 64)
        blocks = std::min(blocks, 2);
  }
  return blocks;
}

/// The arguments and operations of rows that `roots`, and what `elements`
/// computes, are computed from.
RowsEmitter::Slice RowsEmitter::rowsBehind(ArrayRef<Value> roots,
                                           const Slice &elements) const {
  SmallVector<Value> used(roots);
  for (Operation *op : elements.ops)
    llvm::append_range(used, op->getOperands());
  return sliceOf(used, Level::row);
}

/// Declares an array for `argument`: of the tile's rows, of the columns that
/// the thread takes at a time, or of both.
void RowsEmitter::declareHeld(BlockArgument argument) {
  bool perRow = levels.of(argument).level != Level::column;
  bool perColumn = levels.of(argument).level != Level::row;
  scope.forget(argument);
  std::string name = scope.declare(argument);
  os << computedType(argument.getType()) << ' ' << name;
  if (perRow)
    os << '[' << slots.tile << ']';
  if (perColumn)
    os << '[' << slots.vector << ']';
  os << ";\n";
  scope.bind(argument,
             name + (perRow ? "[row]" : "") + (perColumn ? "[k]" : ""));
}

void RowsEmitter::beginSharedRows() {
  os << "#pragma unroll\nfor (int row = 0; row < " << slots.tile
     << "; ++row) {\n";
  os.indent();
}

void RowsEmitter::beginSharedColumns() {
  os << "#pragma unroll\nfor (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  os << "const long long column = " << firstColumn << " + k * "
     << layout.threads << ";\n";
}

/// Asks for what `elements` needs of a batch of columns.
void RowsEmitter::loadBatch(const Slice &elements) {
  auto isElementInput = [&](BlockArgument argument) {
    return levels.of(argument).level == Level::element;
  };
  for (BlockArgument argument : elements.inputs)
    declareHeld(argument);
  if (elements.inputs.empty())
    return;
  beginSharedColumns();
  os << "const bool there = column < tile.columns;\n";
  for (BlockArgument argument : elements.inputs)
    if (!isElementInput(argument))
      os << scope[argument] << " = there ? " << loadOf(argument, "column")
         << " : 0;\n";
  if (llvm::any_of(elements.inputs, isElementInput)) {
    beginSharedRows();
    for (BlockArgument argument : elements.inputs)
      if (isElementInput(argument))
        os << scope[argument] << " = there && row < tile.count ? "
           << loadOf(argument, "column") << " : 0;\n";
    os.unindent() << "}\n";
  }
  os.unindent() << "}\n";
}

/// Asks for what `rows` needs of the tile's rows.
void RowsEmitter::loadRows(const Slice &rows) {
  for (BlockArgument argument : rows.inputs)
    declareHeld(argument);
  if (rows.inputs.empty())
    return;
  beginSharedRows();
  for (BlockArgument argument : rows.inputs)
    os << scope[argument] << " = row < tile.count ? heddle::convert<"
       << computedType(argument.getType()) << ">("
       << pointers[slots.inputs[argument.getArgNumber()]] << "[row]) : 0;\n";
  os.unindent() << "}\n";
}

/// The elements of the block's columns, as many at a time as a thread holds.
LogicalResult RowsEmitter::emitSharedWalk() {
  SmallVector<Value> roots = fused::elementResults(sweep, segment);
  Slice elements = sliceOf(roots), rows = rowsBehind(roots, elements);
  loadRows(rows);
  std::string step = std::to_string(slots.columns) + "LL";
  firstColumn = scope.fresh("first_column");
  os << "for (long long " << firstColumn
     << " = heddle::share_of_block(table) * " << step << " + threadIdx.x; "
     << firstColumn << " < tile.columns; " << firstColumn
     << " += table.shares * " << step << ") {\n";
  os.indent();
  loadBatch(elements);
  os << "heddle::keep_order();\n"; // all is asked for before any is written
  beginSharedRows();
  os << "if (row >= tile.count)\n  break;\n";
  if (failed(declareSlice(rows)))
    return failure();
  beginSharedColumns();
  os << "if (column >= tile.columns)\n  break;\n";
  if (failed(declareSlice(elements)))
    return failure();
  auto yield = sweep.getSegmentYield(segment);
  for (auto [result, value] : llvm::enumerate(yield.getValues())) {
    int slot = slots.results[result];
    if (isElementResult(result))
      os << pointers[slot] << "[row * " << pointers[slot + 1] << " + column] = "
         << storedExpression(value, slots.operands[slot].storage) << ";\n";
  }
  for (int k = 0; k < 3; ++k)
    os.unindent() << "}\n";
  return success();
}

//===----------------------------------------------------------------------===//
// What rows and columns leave behind
//===----------------------------------------------------------------------===//

LogicalResult RowsEmitter::emitCounts() {
  declareAccumulators([&](Operation *op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  });
  if (failed(emitColumns()))
    return failure();
  SmallVector<Value> counted;
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) == Level::row)
      counted.push_back(op.getValue());
  if (!counted.empty()) {
    Slice rows = rowsBehind(counted, Slice());
    loadRows(rows);
    beginSharedRows();
    os << "if (row >= tile.count)\n  break;\n";
    if (failed(declareSlice(rows)))
      return failure();
    storeRow();
    os.unindent() << "}\n";
  }
  storePartials();
  return success();
}

LogicalResult SegmentEmitter::emitCountFunction() {
  SmallVector<Value> roots;
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) > Level::member)
      roots.push_back(op.getValue());
  llvm::DenseSet<Value> counted = fused::behind(roots);
  os << "// once for a tile, by one of the blocks that share it\n";
  beginFunction("count", "void");
  auto isCounted = [&](Value value) { return counted.contains(value); };
  declarePointers([&](unsigned slot) { return isBound(slot, isCounted); });
  declareScalarInputs(isCounted);
  if (failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isCounted(op->getResult(0));
      })) ||
      failed(emitCounts()))
    return failure();
  endFunction();
  return success();
}

/// A short block must not hold what one in many needs: that one reads its row
/// of the table again.
void SegmentEmitter::emitEndOfShares() {
  os << "if (heddle::share_of_block(table) < table.shares - 1) // the last has "
        "fewest columns\n  return;\n"
     << "const auto &anew = static_cast<const " << names.sweep
     << "_tile_row *>(table.tiles)[tile_index];\n"
     << functionName("count") << "<ByValue, Passing>(anew, tile_index, "
     << names.arguments << ");\n"
     << "if (heddle::arrives_last(&table.tickets[anew.member], "
        "anew.tiles))\n  "
     << functionName("end") << "<ByValue, Passing>(anew, tile_index, "
     << names.arguments << ");\n";
}

} // namespace heddle::cuda

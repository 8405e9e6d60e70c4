//===- SharedRows.cpp - rows that several blocks share --------------------===//
//
// A sweep that only maps elements needs no block to see a whole row. Each takes
// some columns of a few rows, all asked for at once, and neighbouring blocks
// take neighbouring memory, line by line, past the cache: the sweep reads and
// writes all of it once. What rows and columns leave behind for the member is
// left to one block in many.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// The arguments and operations of rows that `roots`, and what `elements`
/// computes, are computed from.
RowsEmitter::Slice RowsEmitter::rowsBehind(ArrayRef<Value> roots,
                                           const Slice &elements) const {
  SmallVector<Value> used(roots);
  for (Operation *op : elements.ops)
    llvm::append_range(used, op->getOperands());
  return sliceOf(used, Level::row);
}

/// Declares an array for `argument`: of the tile's rows and, but for their own
/// values, of the columns that the thread takes of each.
void RowsEmitter::declareHeld(BlockArgument argument) {
  bool perColumn = levels.of(argument).level != Level::row;
  scope.forget(argument);
  std::string name = scope.declare(argument);
  os << computedType(argument.getType()) << ' ' << name << '[' << slots.tile
     << ']';
  if (perColumn)
    os << '[' << slots.vector << ']';
  os << ";\n";
  scope.bind(argument, name + (perColumn ? "[row][k]" : "[row]"));
}

void RowsEmitter::beginSharedRows() {
  os << "#pragma unroll\nfor (int row = 0; row < " << slots.tile
     << "; ++row) {\n";
  os.indent();
}

/// The columns of a row that the thread takes at a time.
void RowsEmitter::declarePart() {
  os << "const heddle::part_of_row<" << layout.threads << ", " << slots.vector
     << "> " << part << "(" << firstColumn << ", " << beforeRow
     << "[row], row < tile.count ? tile.columns : 0);\n";
}

/// Where they begin in an operand; returns what it has for the k-th of them.
std::string RowsEmitter::declarePartOf(int slot) {
  std::string name = scope.fresh(pointers[slot] + "_part");
  const OperandSlot &operand = slots.operands[slot];
  os << (operand.written ? "" : "const ") << storedType(operand.storage)
     << " *const " << name << " = &" << elementOf(slot, part + ".first")
     << ";\n";
  return name + "[k * " + std::to_string(layout.threads) + "]";
}

void RowsEmitter::beginSharedColumns() {
  os << "#pragma unroll\nfor (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
}

/// Asks for what `elements` needs of a batch of columns.
void RowsEmitter::loadBatch(const Slice &elements) {
  for (BlockArgument argument : elements.inputs)
    declareHeld(argument);
  if (elements.inputs.empty())
    return;
  beginSharedRows();
  declarePart();
  SmallVector<std::string> asked;
  for (BlockArgument argument : elements.inputs)
    asked.push_back(declarePartOf(slots.inputs[argument.getArgNumber()]));
  beginSharedColumns();
  for (auto [argument, element] : llvm::zip_equal(elements.inputs, asked)) {
    bool once = levels.of(argument).level == Level::element;
    os << scope[argument] << " = whole || " << part
       << ".has(k) ? heddle::convert<" << computedType(argument.getType())
       << ">(" << (once ? "heddle::read_passing(&" + element + ")" : element)
       << ") : 0;\n";
  }
  os.unindent() << "}\n";
  os.unindent() << "}\n";
}

/// Asks for what `rows` needs of a tile's rows: of `count` that begin at
/// `first`, counted from the block's.
void RowsEmitter::loadRows(const Slice &rows, StringRef count,
                           StringRef first) {
  for (BlockArgument argument : rows.inputs)
    declareHeld(argument);
  if (rows.inputs.empty())
    return;
  beginSharedRows();
  for (BlockArgument argument : rows.inputs)
    os << scope[argument] << " = row < " << count << " ? heddle::convert<"
       << computedType(argument.getType()) << ">("
       << pointers[slots.inputs[argument.getArgNumber()]] << "[" << first
       << "row]) : 0;\n";
  os.unindent() << "}\n";
}

/// How far into a line of memory each row begins: of the first of the matrices
/// that are written. Those of a member mostly begin alike.
void RowsEmitter::declareBeforeRows() {
  const int *written = llvm::find_if(slots.results, [&](const int &slot) {
    return slot >= 0 && slots.operands[slot].index == kIJ;
  });
  part = scope.fresh("part");
  firstColumn = scope.fresh("first_column");
  beforeRow = scope.fresh("before_row");
  mostBefore = scope.fresh("most_before");
  os << "int " << beforeRow << "[" << slots.tile << "], " << mostBefore
     << " = 0;\n";
  beginSharedRows();
  os << beforeRow << "[row] = heddle::before_row(" << pointers[*written]
     << " + row * " << pointers[*written + 1] << ");\n"
     << mostBefore << " = " << beforeRow << "[row] > " << mostBefore << " ? "
     << beforeRow << "[row] : " << mostBefore << ";\n";
  os.unindent() << "}\n";
}

/// The elements of the block's columns, as many at a time as a thread holds.
LogicalResult RowsEmitter::emitSharedWalk() {
  SmallVector<Value> roots = fused::elementResults(sweep, segment);
  Slice elements = sliceOf(roots), rows = rowsBehind(roots, elements);
  declareBeforeRows();
  std::string step = std::to_string(slots.columns) + "LL";
  os << "for (long long " << firstColumn << " = " << shareOfBlock() << " * "
     << step << "; " << firstColumn << " < tile.columns + " << mostBefore
     << "; " << firstColumn << " += table.shares * " << step << ") {\n";
  os.indent();
  // Most blocks need not ask what is there.
  std::string take = scope.fresh("take");
  os << "const auto " << take
     << " = [&](bool whole) __attribute__((always_inline)) {\n";
  os.indent();
  loadBatch(elements);
  // Last, since all threads of a warp wait for them as one.
  loadRows(rows, "tile.count");
  os << "heddle::keep_order();\n"; // all is asked for before any is written
  beginSharedRows();
  if (failed(declareSlice(rows)))
    return failure();
  declarePart();
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<std::string> written(yield.getValues().size());
  for (unsigned result = 0; result < written.size(); ++result)
    if (isElementResult(result))
      written[result] = declarePartOf(slots.results[result]);
  beginSharedColumns();
  os << "if (!whole && !" << part << ".has(k))\n  continue;\n";
  if (failed(declareSlice(elements)))
    return failure();
  for (auto [result, value] : llvm::enumerate(yield.getValues())) {
    if (!isElementResult(result))
      continue;
    Type storage = slots.operands[slots.results[result]].storage;
    os << "heddle::write_passing<" << storedType(storage) << ">(&"
       << written[result] << ", " << storedExpression(value, storage) << ");\n";
  }
  os.unindent() << "}\n";
  os.unindent() << "}\n";
  os.unindent() << "};\n";
  os << "if (tile.count == " << slots.tile << " && " << firstColumn
     << " >= " << mostBefore << " && " << firstColumn << " + " << slots.columns
     << " <= tile.columns)\n  " << take << "(true);\nelse\n  " << take
     << "(false);\n";
  os.unindent() << "}\n";
  return success();
}

//===----------------------------------------------------------------------===//
// What rows and columns leave behind
//===----------------------------------------------------------------------===//

/// Each thread counts the rows of a tile, the block's or one of those that
/// follow; all of them the columns, of the member's first tile.
LogicalResult RowsEmitter::emitCounts() {
  declareAccumulators([&](Operation *op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  });
  if (failed(emitColumns()))
    return failure();
  std::string counts = scope.fresh("counts"), count = scope.fresh("count"),
              first = scope.fresh("first_row");
  os << "const bool " << counts << " = " << "static_cast<int>(threadIdx.x) < "
     << "tile.tiles - static_cast<int>(tile.first / " << slots.tile << ");\n";
  SmallVector<Value> counted;
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) == Level::row)
      counted.push_back(op.getValue());
  if (!counted.empty()) {
    os << "const int " << count << " = " << counts << " ? static_cast<const "
       << names.sweep << "_tile_row *>(table.tiles)[tile_index + threadIdx.x]"
       << ".count : 0;\n"
       << "const int " << first << " = threadIdx.x * " << slots.tile << ";\n";
    Slice rows = rowsBehind(counted, Slice());
    loadRows(rows, count, first + " + ");
    beginSharedRows();
    os << "if (row >= " << count << ")\n  break;\n";
    if (failed(declareSlice(rows)))
      return failure();
    for (fused::ReduceOp op : reductions)
      if (levels.countedBy(op) == Level::row)
        os << accumulators[op] << " = " << kindOf(op) << "::combine("
           << accumulators[op] << ", " << kindOf(op) << "::lift("
           << text(op.getValue()) << ", tile.first + " << first
           << " + row));\n";
    os.unindent() << "}\n";
  }
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) == Level::column) {
      std::string part = accumulators[op];
      os << "if (tile.first == 0)\n  " << part << " = heddle::over_block<"
         << kindOf(op) << ", " << layout.threads << ">(" << part << ");\n"
         << "if (threadIdx.x > 0)\n  " << part << " = " << kindOf(op)
         << "::neutral();\n";
    }
  os << "if (" << counts << ") {\n";
  os.indent();
  for (fused::ReduceOp op : reductions)
    if (int area = layout.scratchOf(op, ScratchPer::tile); area >= 0)
      os << names.scratch[area]
         << "[tile_index + threadIdx.x] = " << accumulators[op] << ";\n";
  os.unindent() << "}\n";
  return success();
}

LogicalResult SegmentEmitter::emitCountFunction() {
  SmallVector<Value> roots;
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) > Level::member)
      roots.push_back(op.getValue());
  llvm::DenseSet<Value> counted = fused::behind(roots);
  os << "// once for as many tiles as threads, by one of the blocks that share "
        "the first\n";
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

/// Which of the blocks that share the tile this is.
std::string SegmentEmitter::shareOfBlock() {
  return std::string("heddle::share_of_block(table, ") +
         (sweep.getReversed() ? "table.tile_count - 1 - " : "") + "tile_index)";
}

/// One block in many counts. The others must not hold what it needs: it reads
/// its row of the table again.
void SegmentEmitter::emitEndOfShares() {
  os << "if (" << shareOfBlock() << " < table.shares - 1 || tile.first % "
     << slots.tile * layout.threads << ") // the last has fewest columns\n"
     << "  return;\n"
     << "const auto &anew = static_cast<const " << names.sweep
     << "_tile_row *>(table.tiles)[tile_index];\n"
     << functionName("count") << "<ByValue, Passing>(anew, tile_index, "
     << names.arguments << ");\n"
     << "if (heddle::arrives_last(&table.tickets[anew.member], (anew.tiles + "
     << layout.threads - 1 << ") / " << layout.threads << "))\n  "
     << functionName("end") << "<ByValue, Passing>(anew, tile_index, "
     << names.arguments << ");\n";
}

} // namespace heddle::cuda

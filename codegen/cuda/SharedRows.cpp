//===- SharedRows.cpp - rows that several blocks share --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a sweep that only maps elements, no block has to read a whole row. A block
// processes some columns of a few rows and loads all of them at once.
// Consecutive blocks access consecutive memory, line by line, with evict-first
// accesses, because the sweep reads and writes each element once. Few blocks
// reduce the values of rows and columns.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// The row arguments and row operations from which `roots` and the values of
/// `elements` are computed.
RowsEmitter::Slice RowsEmitter::rowsBehind(ArrayRef<Value> roots,
                                           const Slice &elements) const {
  SmallVector<Value> used(roots);
  for (Operation *op : elements.ops)
    llvm::append_range(used, op->getOperands());
  return sliceOf(used, Level::row);
}

/// Whether a thread holds the elements of `argument` as they are stored.
bool RowsEmitter::isStoredColumns(BlockArgument argument) const {
  return !whenAdjacent.empty() && levels.of(argument).level == Level::element;
}

/// Declares an array for `argument` over the tile's rows and, unless it is a
/// row value, over the thread's columns. Returns its name.
std::string RowsEmitter::declareHeld(BlockArgument argument) {
  bool perColumn = levels.of(argument).level != Level::row;
  scope.forget(argument);
  std::string name = scope.declare(argument);
  std::string extents = "[" + std::to_string(slots.tile) + "]";
  if (isStoredColumns(argument)) {
    Type storage =
        slots.operands[slots.inputs[argument.getArgNumber()]].storage;
    os << columnsOfRow(storage, Twine(slots.vector)) << ' ' << name << extents
       << ";\n";
    scope.bind(argument,
               converted(name + "[row][k]", storage, argument.getType()));
    return name;
  }
  if (perColumn)
    extents += "[" + std::to_string(slots.vector) + "]";
  os << computedType(argument.getType()) << ' ' << name << extents << ";\n";
  scope.bind(argument, name + (perColumn ? "[row][k]" : "[row]"));
  return name;
}

void RowsEmitter::beginSharedRows() {
  os << "#pragma unroll\nfor (int row = 0; row < " << slots.tile
     << "; ++row) {\n";
  os.indent();
}

/// Declares the columns of a row that the thread processes at a time.
void RowsEmitter::declarePart() {
  os << "const heddle::column_slice<" << layout.threads << ", " << slots.vector
     << (whenAdjacent.empty() ? "" : ", Adjacent") << "> " << part << "("
     << firstColumn << ", " << beforeRow
     << "[row], row < tile.count ? tile.columns : 0);\n";
}

/// Declares the address of these columns in an operand; returns the k-th
/// element.
std::string RowsEmitter::declarePartOf(int slot) {
  std::string name = scope.fresh(nameOfSlot(slots.operands[slot]) + "_slice");
  const OperandSlot &operand = slots.operands[slot];
  os << (operand.written ? "" : "const ") << storedType(operand.storage)
     << " *const " << name << " = &" << elementOf(slot, part + ".first")
     << ";\n";
  std::string step =
      whenAdjacent.empty() ? std::to_string(layout.threads) : part + ".step";
  return name + "[k * " + step + "]";
}

void RowsEmitter::beginSharedColumns() {
  os << "#pragma unroll\nfor (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
}

/// Loads the operands of `elements` for a batch of columns.
void RowsEmitter::loadBatch(const Slice &elements) {
  SmallVector<std::string> names;
  for (BlockArgument argument : elements.inputs)
    names.push_back(declareHeld(argument));
  if (elements.inputs.empty())
    return;
  Scope::Nested block(scope);
  beginSharedRows();
  declarePart();
  SmallVector<std::pair<BlockArgument, std::string>> single;
  for (auto [argument, name] : llvm::zip_equal(elements.inputs, names)) {
    int slot = slots.inputs[argument.getArgNumber()];
    if (isStoredColumns(argument))
      os << name << "[row].load_once(" << rowOf(slot) << ", " << part
         << ", whole);\n";
    else
      single.push_back({argument, declarePartOf(slot)});
  }
  if (!single.empty())
    beginSharedColumns();
  for (auto &[argument, element] : single) {
    bool once = levels.of(argument).level == Level::element;
    Type storage =
        slots.operands[slots.inputs[argument.getArgNumber()]].storage;
    os << scope[argument] << " = whole || " << part << ".has(k) ? "
       << converted(once ? "heddle::read_evict_first(&" + element + ")"
                         : element,
                    storage, argument.getType())
       << " : 0;\n";
  }
  if (!single.empty())
    os.unindent() << "}\n";
  os.unindent() << "}\n";
}

/// Loads the operands of `rows` for `count` rows that begin at `first`, counted
/// from the first row of the tile.
void RowsEmitter::loadRows(const Slice &rows, StringRef count,
                           StringRef first) {
  for (BlockArgument argument : rows.inputs)
    declareHeld(argument);
  if (rows.inputs.empty())
    return;
  beginSharedRows();
  for (BlockArgument argument : rows.inputs) {
    unsigned slot = slots.inputs[argument.getArgNumber()];
    os << scope[argument] << " = row < " << count << " ? "
       << converted((pointers[slot] + "[" + first + "row]").str(),
                    slots.operands[slot].storage, argument.getType())
       << " : 0;\n";
  }
  os.unindent() << "}\n";
}

/// Declares the number of elements between the beginning of a memory line and
/// each row, in the first of the written matrices. The other matrices of a
/// member mostly have the same alignment.
void RowsEmitter::declareBeforeRows() {
  const int *written = llvm::find_if(slots.results, [&](const int &slot) {
    return slot >= 0 && slots.operands[slot].index == kIJ;
  });
  part = scope.fresh("slice");
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

/// Prints loops over the elements that a thread holds: their computation, with
/// that of their rows, and their stores if `stores`.
LogicalResult RowsEmitter::printShared(const Slice &rows, const Slice &elements,
                                       bool stores) {
  Scope::Nested block(scope);
  beginSharedRows();
  if (failed(declareSlice(rows)))
    return failure();
  declarePart();
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<std::string> written(yield.getValues().size());
  for (unsigned result = 0; stores && result < written.size(); ++result)
    if (isElementResult(result)) {
      const OperandSlot &operand = slots.operands[slots.results[result]];
      if (whenAdjacent.empty()) {
        written[result] = declarePartOf(slots.results[result]);
        continue;
      }
      written[result] = scope.fresh("to_" + nameOfSlot(operand));
      os << columnsOfRow(operand.storage, Twine(slots.vector)) << ' '
         << written[result] << ";\n";
    }
  beginSharedColumns();
  // With adjacent columns, the stores have the condition: then a thread needs
  // fewer registers.
  std::string isUsed;
  if (whenAdjacent.empty())
    os << "if (!whole && !" << part << ".has(k))\n  continue;\n";
  else
    isUsed = "whole || " + part + ".has(k)";
  if (!elements.ops.empty() && failed(computeElement(elements, isUsed)))
    return failure();
  for (auto [result, value] : llvm::enumerate(yield.getValues())) {
    if (written[result].empty())
      continue;
    Type storage = slots.operands[slots.results[result]].storage;
    if (whenAdjacent.empty())
      os << "heddle::write_evict_first<" << storedType(storage) << ">(&"
         << written[result] << ", " << storedExpression(value, storage)
         << ");\n";
    else
      os << written[result] << ".set(k, " << text(value) << ");\n";
  }
  os.unindent() << "}\n";
  for (auto [result, name] : llvm::enumerate(written))
    if (!name.empty() && !whenAdjacent.empty())
      os << name << ".store_once(" << rowOf(slots.results[result]) << ", "
         << part << ", whole);\n";
  os.unindent() << "}\n";
  return success();
}

/// Prints the computation and the stores of loaded elements with `print`. If
/// divisions and roots are branchless, arrays have the results before any is
/// stored: an array has `extents`, and its element the subscripts `index`.
LogicalResult RowsEmitter::printLoaded(
    const Slice &rows, const Slice &elements, StringRef extents,
    StringRef index,
    llvm::function_ref<LogicalResult(const Slice &, const Slice &, bool stores)>
        print) {
  if (!isBranchless(elements))
    return print(rows, elements, true);
  SmallVector<Value> roots = fused::elementResults(sweep, segment),
                     computed = valuesIn(elements, roots);
  declareArrays(computed, extents, index);
  if (failed(emitBranchless([&] { return print(rows, elements, false); })))
    return failure();
  bindArrays(computed);
  return print(rowsBehind(roots, {}), {}, true);
}

/// Prints the traversal of the block's columns, as many at a time as the
/// threads hold.
LogicalResult RowsEmitter::emitSharedWalk() {
  SmallVector<Value> roots = fused::elementResults(sweep, segment);
  Slice elements = sliceOf(roots), rows = rowsBehind(roots, elements);
  findAdjacent(slots.vector);
  declareBeforeRows();
  std::string step = std::to_string(slots.columns) + "LL";
  os << "for (long long " << firstColumn << " = " << blockOfTile() << " * "
     << step << "; " << firstColumn << " < tile.columns + " << mostBefore
     << "; " << firstColumn << " += params.table.blocks_per_tile * " << step
     << ") {\n";
  os.indent();
  // In most blocks all elements exist.
  std::string take = scope.fresh("process_slice");
  os << "const auto " << take
     << " = [&](bool whole) __attribute__((always_inline)) {\n";
  os.indent();
  loadBatch(elements);
  // These loads are last, because all threads of a warp wait for them together.
  loadRows(rows, "tile.count");
  os << "heddle::keep_order(); // all loads before the first store\n";
  if (failed(printLoaded(
          rows, elements,
          ("[" + Twine(slots.tile) + "][" + Twine(slots.vector) + "]").str(),
          "[row][k]",
          [&](const Slice &ofRows, const Slice &ofElements, bool stores) {
            return printShared(ofRows, ofElements, stores);
          })))
    return failure();
  os.unindent() << "};\n";
  os << "if (tile.count == " << slots.tile << " && " << firstColumn
     << " >= " << mostBefore << " && " << firstColumn << " + " << slots.columns
     << " <= tile.columns)\n  " << take << "(true);\nelse\n  " << take
     << "(false);\n";
  os.unindent() << "}\n";
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions of rows and columns
//===----------------------------------------------------------------------===//

/// Each thread reduces the rows of one tile: the tile of the block, or a later
/// tile. All threads together reduce the columns of the member's first tile.
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
       << tileType() << " *>(params.table.tiles)[tile_index + threadIdx.x]"
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
        accumulate(op, "tile.first + " + first + " + row");
    os.unindent() << "}\n";
  }
  for (fused::ReduceOp op : reductions)
    if (reducesColumnsBefore(op)) {
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
    if (levels.countedBy(op) > Level::member &&
        !levels.reducesCompleteColumns(op))
      roots.push_back(op.getValue());
  llvm::DenseSet<Value> counted = fused::backwardSlice(roots);
  beginFunction();
  auto isCounted = [&](Value value) { return counted.contains(value); };
  declareScalarInputs(isCounted);
  if (failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isCounted(op->getResult(0));
      })) ||
      failed(emitCounts()))
    return failure();
  endFunction("Runs once for as many tiles as a block has threads, in one "
              "block of the first tile.",
              "void", "count");
  return success();
}

/// The index of this block among the blocks that share the tile.
std::string SegmentEmitter::blockOfTile() {
  return std::string("heddle::block_of_tile(params.table, ") +
         (sweep.getReversed() ? "params.table.tile_count - 1 - " : "") +
         "tile_index)";
}

/// The declaration of the columns that the block has, if blocks divide them.
std::string SegmentEmitter::columnRanges(StringRef name) {
  return "heddle::column_ranges<" + std::to_string(layout.columnRange) + "> " +
         name.str() + "(params.table, " + blockOfTile() +
         ", tile.columns <= " + std::to_string(slots.held.columns) + ")";
}

std::string SegmentEmitter::beginColumnLoop(StringRef column, int64_t step,
                                            StringRef first) {
  std::string next = " + k * " + std::to_string(layout.threads);
  if (!layout.columnRange) {
    os << "for (long long " << column << " = " << first << "; " << column
       << " < tile.columns; " << column << " += " << step << ") {\n";
    os.indent();
    return column.str() + next;
  }
  std::string ranges = scope.fresh("ranges"), nth = scope.fresh("nth");
  os << "const " << columnRanges(ranges) << ";\n"
     << "for (long long " << nth << " = " << first << ", " << column << "; ("
     << column << " = " << ranges << ".column(" << nth << ")) < tile.columns; "
     << nth << " += " << step << ") {\n";
  os.indent();
  return ranges + ".column(" + nth + next + ")";
}

/// Few blocks reduce. The other blocks must not hold the operands of reductions
/// in registers, so a block that reduces reads its tile descriptor again.
void SegmentEmitter::emitEndOfSharedTile() {
  std::pair<StringRef, StringRef> again[] = {{"tile", "same_tile"}};
  os << "if (" << blockOfTile() << " < params.table.blocks_per_tile - 1 || "
     << "tile.first % " << slots.tile * layout.threads
     << ") // the last block has the fewest columns\n"
     << "  return;\n"
     << "const " << tileType() << " &same_tile = static_cast<const "
     << tileType() << " *>(params.table.tiles)[tile_index];\n"
     << names.functions->call(functionName("count"), again) << ";\n"
     << "if (heddle::arrives_last(&params.table.tickets[same_tile.member], "
        "(same_tile.tiles + "
     << layout.threads - 1 << ") / " << layout.threads << "))\n  "
     << names.functions->call(functionName("end"), again) << ";\n";
}

} // namespace heddle::cuda

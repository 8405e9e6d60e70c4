//===- SharedVectors.cpp - shared rows whose elements are vectors ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that blocks share (SharedRows.cpp), in the entry for lists of which at
// least 7/8 of the elements are in rows of vectors. If all operands of a tile
// are aligned, its elements are vectors of four, row after row, of which each
// thread has one in every turn. Four elements share addresses and the value of
// their row, and no thread is idle where a row ends. Other tiles have vectors
// of one element: their warps cross memory lines, which is slower than the
// columns of SharedRows.cpp. Both forms in one entry need too many registers.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// Begins a loop over the turns of a thread.
void RowsEmitter::beginTurns() {
  os << "#pragma unroll\nfor (int " << turn << " = 0; " << turn << " < "
     << turns << "; ++" << turn << ") {\n";
  os.indent();
  os << "const auto at = " << vectors << ".at(" << firstTurn << " + " << turn
     << ");\n";
}

/// The address of the thread's vector in an operand of elements or columns.
std::string RowsEmitter::vectorOf(int slot) const {
  std::string row = slots.operands[slot].index == kIJ
                        ? " + at.row * " + pointers[slot + 1]
                        : "";
  return pointers[slot] + row + " + at.column";
}

std::string RowsEmitter::vectorType(Type storage) const {
  return ("heddle::adjacent_elements<" + storedType(storage) + ", " + items +
          ">")
      .str();
}

/// Loads the operands of `elements` and of `rows` for some turns.
void RowsEmitter::loadTurns(const Slice &rows, const Slice &elements) {
  SmallVector<std::string> names;
  for (BlockArgument argument : elements.inputs) {
    scope.forget(argument);
    names.push_back(scope.declare(argument));
    os << vectorType(storageOf(argument)) << ' ' << names.back() << "[" << turns
       << "] = {};\n";
    std::string type = computedType(argument.getType()).str();
    scope.bind(argument,
               names.back() + "[" + turn + "].template get<" + type + ">(k)");
  }
  for (BlockArgument argument : rows.inputs) {
    scope.forget(argument);
    std::string name = scope.declare(argument);
    os << computedType(argument.getType()) << ' ' << name << "[" << turns
       << "];\n";
    scope.bind(argument, name + "[" + turn + "]");
  }
  if (elements.inputs.empty() && rows.inputs.empty())
    return;
  beginTurns();
  if (!elements.inputs.empty()) {
    os << "if (at.is_there) {\n";
    os.indent();
    for (auto [argument, name] : llvm::zip_equal(elements.inputs, names)) {
      bool once = levels.of(argument).level == Level::element;
      os << name << "[" << turn << "]." << (once ? "load_once" : "load") << "("
         << vectorOf(slots.inputs[argument.getArgNumber()]) << ");\n";
    }
    os.unindent() << "}\n";
  }
  // These loads are last, because all threads of a warp wait for them together.
  for (BlockArgument argument : rows.inputs) {
    int slot = slots.inputs[argument.getArgNumber()];
    os << scope[argument] << " = at.is_there ? "
       << converted(pointers[slot] + "[at.row]", slots.operands[slot].storage,
                    argument.getType())
       << " : 0;\n";
  }
  os.unindent() << "}\n";
}

/// Prints loops over the elements that a thread has: their computation, with
/// that of their rows, and their stores if `stores`.
LogicalResult RowsEmitter::printTurns(const Slice &rows, const Slice &elements,
                                      bool stores) {
  Scope::Nested block(scope);
  beginTurns();
  if (failed(declareSlice(rows)))
    return failure();
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<std::string> written(yield.getValues().size());
  for (unsigned result = 0; stores && result < written.size(); ++result)
    if (isElementResult(result)) {
      const OperandSlot &operand = slots.operands[slots.results[result]];
      written[result] = scope.fresh("to_" + nameOfSlot(operand));
      os << vectorType(operand.storage) << ' ' << written[result] << ";\n";
    }
  os << "#pragma unroll\nfor (int k = 0; k < " << items << "; ++k) {\n";
  os.indent();
  if (!elements.ops.empty() && failed(computeElement(elements, "at.is_there")))
    return failure();
  for (auto [result, value] : llvm::enumerate(yield.getValues())) {
    if (written[result].empty())
      continue;
    Type storage = slots.operands[slots.results[result]].storage;
    bool inPairs = isHalf(storage); // one instruction rounds two elements
    os << written[result] << (inPairs ? ".set" : ".put") << "(k, "
       << (inPairs ? text(value) : storedExpression(value, storage)) << ");\n";
  }
  os.unindent() << "}\n";
  for (auto [result, name] : llvm::enumerate(written))
    if (!name.empty())
      os << "if (at.is_there)\n  " << name << ".store_once("
         << vectorOf(slots.results[result]) << ");\n";
  os.unindent() << "}\n";
  return success();
}

LogicalResult RowsEmitter::emitVectors() {
  if (failed(declareMemberValues()))
    return failure();
  SmallVector<Value> roots = fused::elementResults(sweep, segment);
  Slice elements = sliceOf(roots), rows = rowsBehind(roots, elements);
  int64_t bytes = 0;
  for (BlockArgument argument : elements.inputs)
    bytes += kAdjacentInRow * storageBytes(storageOf(argument));
  vectors = scope.fresh("vectors");
  firstTurn = scope.fresh("first_turn");
  turn = scope.fresh("turn");
  items = scope.fresh("items");
  turns = scope.fresh("turns");
  os << "constexpr int " << items << " = Adjacent ? " << kAdjacentInRow
     << " : 1, " << turns << " = Adjacent ? "
     << turnsAtOnce(sweep, segment, bytes) << " : " << kTurnsOfElements << ";\n"
     << "const heddle::tile_vectors<" << layout.threads << ", " << slots.tile
     << ", " << items << "> " << vectors << "(tile.columns, tile.count);\n"
     << "for (unsigned " << firstTurn << " = " << blockOfTile() << " * "
     << turns << "; " << vectors << ".has(" << firstTurn << "); " << firstTurn
     << " += params.table.blocks_per_tile * " << turns << ") {\n";
  os.indent();
  loadTurns(rows, elements);
  os << "heddle::keep_order(); // all loads before the first store\n";
  if (failed(printLoaded(
          rows, elements, "[" + turns + "][" + items + "]", "[" + turn + "][k]",
          [&](const Slice &ofRows, const Slice &ofElements, bool stores) {
            return printTurns(ofRows, ofElements, stores);
          })))
    return failure();
  os.unindent() << "}\n";
  whenVectors = haveVectors(kAdjacentInRow);
  for (BlockArgument argument : elements.inputs)
    if (levels.of(argument).level == Level::column)
      whenVectors += (" && heddle::is_aligned<" + Twine(kAdjacentInRow) + ">(" +
                      pointers[slots.inputs[argument.getArgNumber()]] + ")")
                         .str();
  return success();
}

} // namespace heddle::cuda

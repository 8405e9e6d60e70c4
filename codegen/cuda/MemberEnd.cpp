//===- MemberEnd.cpp - the end of a member and of the list ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the statements of the last block of a member. They combine the
// partials of the member's tiles into values of the member and of its columns,
// precompute scalars for the next step, and end the list.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Precomputed.h"
#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

LogicalResult SegmentEmitter::emitMemberValues() {
  // The index of the first tile of the member.
  bool tiles = llvm::any_of(reductions, [&](fused::ReduceOp op) {
    return (op.getLevel() == Level::member &&
            layout.scratchOf(op, ScratchPer::tile) >= 0) ||
           layout.scratchOf(op, ScratchPer::tileColumn) >= 0;
  });
  if (tiles)
    os << "const int first_tile = " << firstTile() << ";\n";
  for (fused::ReduceOp op : reductions) {
    int area = layout.scratchOf(op, ScratchPer::tile);
    if (area < 0 || op.getLevel() != Level::member)
      continue;
    std::string state = accumulators[op] = freshFor(op, "_state");
    os << "const " << stateOf(op) << ' ' << state << " = heddle::over_states<"
       << kindOf(op) << ", " << layout.threads << ">(" << names.scratch[area]
       << " + first_tile, tile.tiles);\n";
    declareReduced(op, state);
  }
  return declareOps([&](Operation *op) {
    fused::LevelOf level = levels.of(op->getResult(0));
    return level.after && level.level == Level::member && !level.afterColumns;
  });
}

/// Combines the columns of the member into the values that depend on them.
LogicalResult SegmentEmitter::emitValuesOfColumns() {
  bool any = false;
  for (fused::ReduceOp op : reductions) {
    if (!levels.reducesCompleteColumns(op))
      continue;
    any = true;
    std::string state = accumulators[op];
    os << state << " = heddle::over_block<" << kindOf(op) << ", "
       << layout.threads << ">(" << state << ");\n";
    declareReduced(op, state);
  }
  if (!any)
    return success();
  return declareOps([&](Operation *op) {
    return levels.of(op->getResult(0)).afterColumns &&
           isUsedAtEnd(op->getResult(0));
  });
}

void SegmentEmitter::storeMemberResults() {
  auto yield = sweep.getSegmentYield(segment);
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues())) {
    if (slot < 0 || !isMemberIndex(slots.operands[slot].index))
      continue;
    std::string stored = storedExpression(value, slots.operands[slot].storage);
    if (slots.operands[slot].index == kIteration)
      os << recordOfMember("heddle::record(" + pointers[slot] + ", " +
                           pointers[slot + 1] + ", " + currentIteration() +
                           ", " + stored + ")")
         << ";\n";
    else
      os << storeOfMember(pointers[slot], stored) << ";\n";
  }
}

void SegmentEmitter::storeListStates() {
  for (fused::ReduceOp op : reductions) {
    int area = layout.scratchOf(op, ScratchPer::member);
    if (area < 0)
      continue;
    std::string state = accumulators.lookup(op);
    if (state.empty()) // one value per member, without tiles
      state = kindOf(op) + "::lift(" + text(op.getValue()) +
              ", static_cast<const " + names.memberType(layout) +
              " *>(params.table.members)[tile.member].index)";
    os << names.scratch[area] << "[tile.member] = " << state << ";\n";
  }
}

/// The value in the epilogue that replaces the scalar in `slot`, if it depends
/// on scalars alone; otherwise null.
Value SegmentEmitter::replacementOfScalar(int slot) const {
  auto found = llvm::find(layout.epilogueResults, slot);
  if (found == layout.epilogueResults.end())
    return {};
  fused::SweepOp own = sweep;
  Value value = own.getEpilogueYield()
                    .getValues()[found - layout.epilogueResults.begin()];
  unsigned ofList = own.getListResults().size();
  bool isKnown = llvm::none_of(fused::backwardSlice(value), [&](Value behind) {
    auto argument = dyn_cast<BlockArgument>(behind);
    return argument && argument.getArgNumber() < ofList;
  });
  return isKnown ? value : Value();
}

/// Declares the values of the epilogue from which `value` is computed.
void SegmentEmitter::declareOfEpilogue(Value value) {
  llvm::DenseSet<Value> needed = fused::backwardSlice(value);
  Block &block = *value.getParentBlock();
  unsigned ofList = sweep.getListResults().size();
  for (BlockArgument argument : block.getArguments()) {
    if (!needed.contains(argument) || scope.contains(argument))
      continue;
    int slot = layout.epilogueInputs[argument.getArgNumber() - ofList];
    os << "const " << computedType(argument.getType()) << ' '
       << scope.declare(argument, "scalar") << " = "
       << converted("*" + names.scalars[slot], layout.scalars[slot].storage,
                    argument.getType())
       << ";\n";
  }
  for (Operation &op : block.without_terminator())
    if (Value result = op.getResult(0); needed.contains(result) &&
                                        !isa<arith::ConstantOp>(op) &&
                                        !scope.contains(result))
      if (auto printed = printOp(&op))
        declareResult(result, printed->text);
}

void SegmentEmitter::emitPrecomputeForNextStep() {
  auto yield = sweep.getSegmentYield(segment);
  llvm::DenseMap<int, Value> replacing;
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (slot >= 0) // list values have no slot
      replacing[slot] = value;
  for (Operation &op : body) {
    auto precompute = dyn_cast<fused::PrecomputeOp>(op);
    if (!precompute)
      continue;
    int area = layout.scratchOf(&op, ScratchPer::member);
    std::string arguments;
    for (Value input : precompute.getInputs()) {
      // The value that the operand has in the next step.
      int slot = slots.inputs[cast<BlockArgument>(input).getArgNumber()];
      std::string value;
      if (Value next = slot >= 0 ? replacing.lookup(slot)
                                 : replacementOfScalar(-1 - slot)) {
        Type storage = slot >= 0 ? slots.operands[slot].storage
                                 : layout.scalars[-1 - slot].storage;
        if (slot < 0)
          declareOfEpilogue(next);
        value = converted(storedExpression(next, storage), storage,
                          input.getType());
      } else {
        value = text(input);
      }
      arguments += (arguments.empty() ? "" : ", ") + value;
    }
    os << names.scratch[area] << "[tile.member] = " << names.precompute[area]
       << "(" << arguments << ");\n";
  }
}

/// Finds the values from which the results that are written at the end of the
/// member are computed; the search stops at reductions.
void SegmentEmitter::findUsedAtEnd() {
  SmallVector<Value> open;
  auto yield = sweep.getSegmentYield(segment);
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues()))
    if (slot >= 0 && isWrittenAtEnd(slots.operands[slot].index))
      open.push_back(value);
  for (fused::ReduceOp op : reductions)
    if (levels.countedBy(op) <= Level::member ||
        levels.reducesCompleteColumns(op))
      open.push_back(op.getValue());
  // A scalar that the epilogue replaces is read for the value that replaces it.
  for (auto precompute : body.getOps<fused::PrecomputeOp>())
    for (Value input : precompute.getInputs())
      if (int slot = slots.inputs[cast<BlockArgument>(input).getArgNumber()];
          slot >= 0 || !replacementOfScalar(-1 - slot))
        open.push_back(input);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!usedAtEnd.insert(value).second)
      continue;
    if (auto record = dyn_cast_or_null<fused::RecordOp>(op))
      open.push_back(record.getValue());
    else if (op && !isa<fused::ReduceOp>(op))
      llvm::append_range(open, op->getOperands());
  }
}

/// Whether a reduction over columns has its operands when the columns of the
/// member are complete.
bool SegmentEmitter::reducesAtEnd(Operation *op) {
  return levels.reducesCompleteColumns(cast<fused::ReduceOp>(op));
}

/// Declares the states and the operands of columns, `atOnce` for each thread,
/// and loads them for the columns from `first` on; `nth` is the k-th of them.
void SegmentEmitter::loadColumnsAtEnd(StringRef first, StringRef nth,
                                      int64_t atOnce) {
  std::string extent = ("[" + Twine(atOnce) + "]").str(), loads, base;
  for (fused::ReduceOp op : reductions) {
    int area = layout.scratchOf(op, ScratchPer::tileColumn);
    if (area < 0)
      continue;
    // The columns of the member's first tile, which holds the combined states.
    base = "const long long base = tile.column_base - (tile_index - "
           "first_tile) * tile.columns + column;\n";
    std::string state = freshFor(op, "_state");
    os << stateOf(op) << ' ' << state << extent << ";\n";
    accumulators[op] = state + "[k]";
    loads += accumulators[op] + " = " + names.scratch[area] + "[base];\n";
  }
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::column || !isUsedAtEnd(argument))
      continue;
    std::string name = scope.declare(argument, "x");
    os << computedType(argument.getType()) << ' ' << name << extent << ";\n";
    scope.bind(argument, name + "[k]");
    loads += scope[argument] + " = " +
             converted(pointers[slot] + "[column]",
                       slots.operands[slot].storage, argument.getType()) +
             ";\n";
  }
  if (loads.empty())
    return;
  beginColumnsAtOnce(atOnce);
  os << "const long long wanted = " << nth
     << ", column = wanted < tile.columns ? wanted : " << first << ";\n"
     << base << loads;
  os.unindent()
      << "}\n"
      << "heddle::keep_order(); // all loads before the first store\n";
}

void SegmentEmitter::beginColumnsAtOnce(int64_t atOnce) {
  os << "#pragma unroll\nfor (int k = 0; k < " << atOnce << "; ++k) {\n";
  os.indent();
}

/// The columns of which a thread loads operands and states at the same time, so
/// that the loads of a column do not wait for the stores of another.
int64_t SegmentEmitter::columnsAtOnce() {
  constexpr int64_t most = 4, bytes = 64;
  int64_t ofColumn = 0;
  for (fused::ReduceOp op : reductions)
    if (layout.scratchOf(op, ScratchPer::tileColumn) >= 0)
      ofColumn += stateBytes(op.getKind(), op.getValue().getType());
  for (BlockArgument argument : body.getArguments())
    if (levels.of(argument).level == Level::column && isUsedAtEnd(argument))
      ofColumn += storageBytes(argument.getType());
  return std::clamp<int64_t>(bytes / std::max<int64_t>(ofColumn, 1), 1, most);
}

/// Computes the values of the member's columns from their combined states.
LogicalResult SegmentEmitter::emitColumnsAtEnd() {
  auto overColumns = [&](Operation *op) { return reducesAtEnd(op); };
  bool anyColumn = llvm::any_of(reductions, [&](fused::ReduceOp op) {
    return layout.scratchOf(op, ScratchPer::tileColumn) >= 0 ||
           reducesAtEnd(op);
  });
  for (int slot : slots.results)
    anyColumn |= slot >= 0 && slots.operands[slot].index == kJ;
  declareAccumulators(overColumns);
  if (!anyColumn)
    return success();
  int64_t atOnce = columnsAtOnce();
  std::string first = scope.fresh("first_column");
  std::string nth = beginColumnLoop(first, atOnce * layout.threads);
  loadColumnsAtEnd(first, nth, atOnce);
  beginColumnsAtOnce(atOnce);
  os << "const long long column = " << nth << ";\n"
     << "if (column >= tile.columns)\n  break;\n";
  for (fused::ReduceOp op : reductions)
    if (layout.scratchOf(op, ScratchPer::tileColumn) >= 0)
      declareReduced(op, accumulators[op]);
  if (failed(declareOps([&](Operation *op) {
        return levels.of(op->getResult(0)).level == Level::column &&
               isUsedAtEnd(op->getResult(0));
      })))
    return failure();
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<Value> ofColumns;
  for (auto [slot, value] : llvm::zip(slots.results, yield.getValues())) {
    if (slot < 0 || slots.operands[slot].index != kJ)
      continue;
    ofColumns.push_back(value);
    os << pointers[slot]
       << "[column] = " << storedExpression(value, slots.operands[slot].storage)
       << ";\n";
  }
  for (fused::ReduceOp op : reductions)
    if (overColumns(op)) {
      ofColumns.push_back(op.getValue());
      accumulate(op, "column");
    }
  os.unindent() << "}\n";
  os.unindent() << "}\n";
  // With one tile, the threads have not synchronized since they read the member
  // values and precomputed scalars that the first thread now replaces.
  auto read = [&, behind = fused::backwardSlice(ofColumns)](Value value) {
    return behind.contains(value) && isUsedAtEnd(value);
  };
  bool replaced = llvm::any_of(
      body.getOps<fused::PrecomputeOp>(), [&](fused::PrecomputeOp precompute) {
        return llvm::any_of(precompute.getResults(), read);
      });
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs))
    replaced |= slot >= 0 && isMemberIndex(slots.operands[slot].index) &&
                slots.operands[slot].written && read(argument);
  if (replaced)
    os << "__syncthreads(); // the member's own values have been read\n";
  return success();
}

LogicalResult SegmentEmitter::emitEnd() {
  if (failed(emitMemberValues()))
    return failure();
  if (!slots.endsAfterStores) {
    storeMemberResults();
    emitPrecomputeForNextStep();
    return success();
  }
  if (failed(emitColumnsAtEnd()) || failed(emitValuesOfColumns()))
    return failure();
  names.functions->block("if (threadIdx.x == 0)", [&] {
    storeMemberResults();
    emitPrecomputeForNextStep();
    storeListStates();
  });
  if (layout.endsList)
    os << "// Once for the list, when all its members are done.\n"
       << "if "
          "(heddle::arrives_last(&params.table.tickets[params.table.member_"
          "count], "
          "params.table.member_count))\n  "
       << names.functions->call(names.sweep + "_epilogue") << ";\n";
  return success();
}

/// Prints the function that combines the columns of a member's consecutive
/// tiles: first in groups, whose last block stores the result with the first
/// tile of the group, then in groups of groups, and so on.
void SegmentEmitter::emitCombineFunction() {
  beginFunction();
  // Blocks that divide columns have tickets of their own.
  std::string ticket = "tile_index - own + group.first + step";
  if (layout.columnRange)
    ticket =
        "(" + ticket + ") * params.table.blocks_per_tile + " + blockOfTile();
  assert(slots.held.columns && "only matrices have columns");
  os << "__syncthreads(); // the tile is done\n"
     << "const int own = tile_index - " << firstTile() << ";\n"
     << "const heddle::threads_by_column<" << layout.threads
     << "> threads(tile.columns);\n"
     << "#pragma unroll 1\n"
     << "for (long long step = 1; step < tile.tiles; step *= threads.tiles) "
        "{\n";
  os.indent();
  os << "const heddle::group_of_tiles group(own, step, tile.tiles, "
        "threads.tiles);\n"
     << "if (!heddle::arrives_last(&" << names.scratch[slots.tickets] << "["
     << ticket << "], group.count))\n"
     << "  return false;\n"
     << "const long long base = tile.column_base + (group.first - own) * "
        "tile.columns;\n"
     << "if (group.count == 1)\n  continue;\n";
  auto forEachArea =
      [&](llvm::function_ref<void(StringRef, fused::ReduceOp)> print) {
        for (fused::ReduceOp op : reductions)
          if (int area = layout.scratchOf(op, ScratchPer::tileColumn);
              area >= 0)
            print(names.scratch[area], op);
      };
  os << "if (threads.of_column > 1) {\n";
  os.indent();
  forEachArea([&](StringRef area, fused::ReduceOp op) {
    os << "heddle::combine_columns<" << kindOf(op) << ">(" << area
       << " + base, tile.columns, step, group.count, threads);\n";
  });
  os << "continue;\n";
  os.unindent() << "}\n";
  std::string ranges;
  if (layout.columnRange) {
    os << "const " << columnRanges("ranges") << ";\n";
    ranges = ", ranges";
  }
  forEachArea([&](StringRef area, fused::ReduceOp op) {
    os << "heddle::combine_tiles<" << kindOf(op) << ", " << layout.threads
       << ">(" << area << " + base, tile.columns, step, group.count" << ranges
       << ");\n";
  });
  os.unindent() << "}\n";
  os << "return true;\n";
  endFunction("Combines the columns of a member. True in the block that "
              "finishes last.",
              "bool", "combine");
}

LogicalResult SegmentEmitter::emitEndFunction() {
  beginFunction();
  // Without states of tiles, the end is the work of one thread. The last block
  // of a member calls it with one; a launch of its own calls it with all.
  if (!slots.endsAfterStores && !tilesEndMembers())
    os << "if (threadIdx.x != 0)\n  return;\n";
  // Values that were computed before the elements are recomputed: keeping them
  // would cost registers in every block.
  declareScalarInputs([&](Value argument) { return isUsedAtEnd(argument); });
  bool fromPrecompute = llvm::any_of(
      body.getOps<fused::PrecomputeOp>(), [&](fused::PrecomputeOp precompute) {
        return llvm::any_of(precompute.getResults(),
                            [&](Value value) { return isUsedAtEnd(value); });
      });
  if (fromPrecompute && failed(declarePrecomputed()))
    return failure();
  if (failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isUsedAtEnd(op->getResult(0));
      })) ||
      failed(emitEnd()))
    return failure();
  endFunction(tilesEndMembers()
                  ? "Runs once per member, in the last block of the member."
                  : "Runs once per member, when its tiles are complete.",
              "void", "end");
  return success();
}

} // namespace heddle::cuda

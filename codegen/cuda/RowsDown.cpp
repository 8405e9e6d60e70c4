//===- RowsDown.cpp - columns of a panel of rows --------------------------===//
//
// Where nothing is reduced over rows, a thread need not come to the end of one
// before it begins the next: it goes down some columns of all the rows of the
// tile, and keeps what it has of them in registers.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// Whether elements meet down columns and nowhere else, and rows leave nothing
/// behind: what goes to the member is combined row after row.
bool RowsEmitter::goesDown() const {
  return slots.meetsColumns &&
         llvm::all_of(reductions,
                      [&](fused::ReduceOp op) {
                        return op.getLevel() == Level::column ||
                               levels.countedBy(op) == Level::column;
                      }) &&
         llvm::none_of(slots.results, [&](int slot) {
           return slot >= 0 && (slots.operands[slot].index == kI ||
                                slots.operands[slot].index == kIJ);
         });
}

/// Blocks that fit a multiprocessor where all segments go down, or 0: one that
/// waits for what it has of a column keeps no other from its work.
int RowsEmitter::downBlocks(fused::SweepOp sweep, const SweepLayout &layout) {
  bool doubles = false, down = true;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    down &= segment.meetsColumns;
    for (auto op : sweep.getSegmentBlock(s).getOps<fused::ReduceOp>()) {
      down &= op.getLevel() == Level::column;
      doubles |= op.getValue().getType().isF64();
    }
  }
  return !down ? 0 : doubles ? 2 : 4;
}

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
  size_t words = 0;
  for (BlockArgument argument : slice.inputs)
    words += argument.getType().isF64() ? 2 : 1;
  int batch = batchOf(words);
  std::string first = scope.fresh("first_column"), k = scope.fresh("k");
  std::string ask = scope.fresh("ask");
  std::string loop = ("#pragma unroll\nfor (int " + k + " = 0; " + k + " < " +
                      Twine(batch) + "; ++" + k + ") {\n")
                         .str();
  std::string column = ("const long long column = " + first + " + " + k +
                        " * " + Twine(layout.threads) + ";\n")
                           .str();
  os << "for (long long " << first << " = threadIdx.x; " << first
     << " < tile.columns; " << first << " += " << batch * layout.threads
     << ") {\n";
  os.indent();
  llvm::DenseMap<Operation *, std::string> down;
  for (fused::ReduceOp op : taken) {
    down[op] = freshFor(op, "_down");
    os << stateOf(op) << ' ' << down[op] << '[' << batch << "];\n"
       << loop << "  " << down[op] << '[' << k << "] = " << kindOf(op)
       << "::neutral();\n}\n";
  }
  // A row is asked for while the one before is at work.
  llvm::DenseMap<Value, std::string> asked;
  for (BlockArgument argument : slice.inputs) {
    scope.forget(argument);
    std::string name = scope.declare(argument);
    asked[argument] = scope.fresh("next_" + name);
    os << computedType(argument.getType()) << ' ' << asked[argument] << "["
       << batch << "];\n";
    scope.bind(argument, name + "[" + k + "]");
  }
  os << "const auto " << ask << " = [&](long long row) {\n";
  os.indent();
  os << loop;
  os.indent();
  os << column
     << "const bool there = row < tile.count && column < "
        "tile.columns;\n";
  for (BlockArgument argument : slice.inputs)
    os << asked[argument] << "[" << k << "] = there ? "
       << loadOf(argument, "column") << " : 0;\n";
  os.unindent() << "}\n";
  os.unindent() << "};\n";
  os << ask << "(0);\n"
     << "for (long long row = 0; row < tile.count; ++row) {\n";
  os.indent();
  for (BlockArgument argument : slice.inputs)
    os << computedType(argument.getType()) << ' '
       << StringRef(scope[argument]).split('[').first << "[" << batch << "];\n";
  os << loop;
  os.indent();
  for (BlockArgument argument : slice.inputs)
    os << scope[argument] << " = " << asked[argument] << "[" << k << "];\n";
  os.unindent() << "}\n"
                << ask << "(row + 1);\n"
                << "heddle::keep_order();\n";
  declareRowInputs();
  if (failed(declareOps([&](Operation *op) {
        return levels.of(op->getResult(0)) ==
                   fused::LevelOf{Level::row, false} &&
               !fused::isOnlyHinted(op->getResult(0)) &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  os << loop;
  os.indent();
  os << column << "if (column >= tile.columns)\n  break;\n";
  if (failed(declareSlice(slice)))
    return failure();
  for (fused::ReduceOp op : taken) {
    std::string part = down[op] + "[" + k + "]";
    std::string lifted = kindOf(op) + "::lift(" + text(op.getValue()) + ", " +
                         positionOf(op) + ")";
    os << part << " = row == 0 ? " << lifted << " : " << kindOf(op)
       << "::combine(" << part << ", " << lifted << ");\n";
  }
  os.unindent() << "}\n";
  os.unindent() << "}\n";
  os << loop;
  os.indent();
  os << column << "if (column >= tile.columns)\n  break;\n";
  for (fused::ReduceOp op : taken)
    os << names.scratch[layout.scratchOf(op, ScratchPer::tileColumn)]
       << "[tile.column_base + column] = " << down[op] << '[' << k << "];\n";
  os.unindent() << "}\n";
  os.unindent() << "}\n";
  storePartials();
  return success();
}

} // namespace heddle::cuda

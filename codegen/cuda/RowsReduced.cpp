//===- RowsReduced.cpp - wide rows that are only reduced ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sweep that only reduces rows needs no element after its reduction. A block
// then reduces several parts of a wide row, one after the other, and combines
// them at the end: it loads many columns at a time, and meets at no barrier
// between two parts.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// Declares the operand `argument` of the columns of the group from `first` on,
/// and loads it. Floats of 16 bits stay as they are stored.
void RowsEmitter::loadReduced(BlockArgument argument, StringRef first) {
  Type storage = storageOf(argument);
  std::string name = scope.declare(argument);
  bool ofElement = levels.of(argument).level == Level::element;
  if (ofElement && isHalf(storage)) {
    os << loadedColumns(storage) << ' ' << name << ";\n"
       << name << ".load("
       << pointerToRow(slots.inputs[argument.getArgNumber()]) << " + " << first
       << ", " << group << ", " << present << ");\n";
    scope.bind(argument, converted(name + "[k]", storage, argument.getType()));
    return;
  }
  StringRef type = computedType(argument.getType());
  os << type << ' ' << name << "[" << heldItems << "];\n";
  scope.bind(argument, name + "[k]");
  if (ofElement)
    return loadColumns(argument, name, type, heldItems, group + ", " + present,
                       first);
  beginHeldItems();
  os << name << "[k] = " << hasHeldColumn() << " ? "
     << loadOf(argument, first + " + " + group + ".column(k)") << " : 0;\n";
  os.unindent() << "}\n";
}

/// Prints the reduction `op` of the parts of a row that the block has. `slice`
/// has the operations behind its elements.
LogicalResult RowsEmitter::emitReducedParts(fused::ReduceOp op,
                                            const Slice &slice) {
  std::string &own = accumulators[op];
  llvm::SaveAndRestore items(heldItems, std::to_string(reducedItems(layout))),
      ofThread(present, std::string()), threads(group, scope.fresh("group"));
  present = group + ".present";
  std::string states = freshFor(op, "_of_parts"),
              first = scope.fresh("first_column"),
              end = scope.fresh("end_of_part");
  os << "heddle::states_of_parts<" << kindOf(op) << ", " << layout.threads
     << ", " << runtime::mostRowParts(layout.wholeColumns) << "> " << states
     << ";\n";
  declareRowPointers([](const OperandSlot &slot) { return slot.read; });
  std::string part = scope.fresh("part");
  os << "for (int " << part << " = " << parts << ".first; " << part << " < "
     << parts << ".last; ++" << part << ") {\n";
  os.indent();
  os << own << " = " << kindOf(op) << "::neutral();\n"
     << "const long long " << end << " = " << parts << ".end(" << part << ");\n"
     << "for (long long " << first << " = " << parts << ".begin(" << part
     << "); " << first << " < " << end << "; " << first
     << " += " << reducedItems(layout) * layout.threads << ") {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    os << "const heddle::group_of_block<" << layout.threads << ", " << heldItems
       << ", Adjacent> " << group << "(" << end << " - " << first << ");\n";
    for (BlockArgument argument : slice.inputs)
      loadReduced(argument, first);
    os << "heddle::keep_order(); // all loads before the first use\n";
    beginHeldItems();
    os << "if (" << group << ".ends_before(k, " << present << "))\n  break;\n"
       << "const long long column = " << first << " + " << group
       << ".column(k);\n";
    Scope::Nested element(scope);
    if (failed(declareSlice(slice)))
      return failure();
    names.functions->block("if (" + hasHeldColumn() + ")",
                           [&] { printBatchUses(op); });
    os.unindent() << "}\n";
  }
  os.unindent() << "}\n";
  os << states << ".put(" << part << " - " << parts << ".first, " << own
     << ");\n";
  os.unindent() << "}\n";
  os << own << " = " << states << ".of_thread(" << parts << ".own());\n"
     << "if (!" << parts << ".is_divided())\n  " << own
     << " = heddle::over_block<" << kindOf(op) << ", " << layout.threads << ">("
     << own << ");\n";
  rowPointers.clear();
  return success();
}

} // namespace heddle::cuda

//===- HeldLoads.cpp - loads of rows in registers -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread loads the elements of all rows that it has at a time, and the
// operands of these rows, before it uses any. Elements of 16 bits stay as they
// are stored until then, because a conversion directly after a load would wait
// for it.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

Type RowsEmitter::storageOf(BlockArgument argument) const {
  return slots.operands[slots.inputs[argument.getArgNumber()]].storage;
}

/// The type of the columns of a row that a thread has, as they are stored.
std::string RowsEmitter::loadedColumns(Type storage) const {
  return ("heddle::loaded_columns<" + storedType(storage) + ", " + heldItems +
          ", decltype(" + group + ")>")
      .str();
}

/// The element of the array of `argument` for the current row.
std::string RowsEmitter::heldRowOf(BlockArgument argument) {
  return (StringRef(scope[argument]).split('[').first + "[" + nthRow + "]")
      .str();
}

/// Declares an array of elements as they are stored, for all rows.
std::string RowsEmitter::declareStored(BlockArgument argument) {
  Type storage = storageOf(argument);
  std::string name = scope.declare(argument);
  if (hasAdjacentForm())
    os << loadedColumns(storage) << ' ' << name << "[" << rowsAtOnce << "];\n";
  else if (whenAdjacent.empty())
    os << storedType(storage) << ' ' << name << "[" << rowsAtOnce << "]["
       << heldItems << "];\n";
  else
    os << columnsOfRow(storage, heldItems) << ' ' << name << "[" << rowsAtOnce
       << "];\n";
  scope.bind(argument, converted(name + "[" + nthRow + "][k]", storage,
                                 argument.getType()));
  return name;
}

/// Declares the arrays of the operands of elements and of rows.
RowsEmitter::HeldArrays
RowsEmitter::declareHeldArrays(ArrayRef<BlockArgument> ofElements,
                               ArrayRef<BlockArgument> ofRows) {
  HeldArrays arrays;
  for (BlockArgument argument : ofElements) {
    Type storage = storageOf(argument);
    bool staysStored =
        goesDown ? storage != argument.getType()
                 : hasAdjacentForm() && isHalf(storage) && !layout.longParts;
    if (staysStored) {
      arrays.stored[argument] = declareStored(argument);
      continue;
    }
    StringRef type = computedType(argument.getType());
    std::string name = scope.declare(argument);
    if (layout.longParts)
      os << "heddle::held_elements<" << type << ", Items, " << layout.threads
         << ", " << longItems() << ", " << kLongRegisters << "> " << name << "["
         << rowsAtOnce << "];\n";
    else
      os << type << ' ' << name << "[" << rowsAtOnce << "][" << heldItems
         << "];\n";
    scope.bind(argument, name + "[" + nthRow + "][k]");
    if (layout.longParts && isHalf(storage)) {
      std::string first = scope.fresh("stored_" + name);
      os << loadedColumns(storage) << ' ' << first << "[" << rowsAtOnce
         << "]; // if there are several rows\n";
      arrays.storedFirst[argument] = first;
    }
  }
  for (BlockArgument argument : ofRows) {
    std::string name = scope.declare(argument);
    os << computedType(argument.getType()) << ' ' << name << "[" << rowsAtOnce
       << "];\n";
    scope.bind(argument, name + "[" + nthRow + "]");
  }
  return arrays;
}

/// Loads elements of the current row, in a form that may have adjacent columns.
void RowsEmitter::loadAdjacent(BlockArgument argument,
                               const HeldArrays &arrays) {
  std::string row = rowPointers[slots.inputs[argument.getArgNumber()]],
              columns = group + ", " + present;
  auto load = [&](StringRef array) {
    os << array << "[" << nthRow << "].load(" << row << ", " << columns
       << ");\n";
  };
  if (std::string stored = arrays.stored.lookup(argument); !stored.empty())
    return load(stored);
  std::string first = arrays.storedFirst.lookup(argument);
  if (!first.empty())
    os << "if constexpr (" << rowsAtOnce << " == 1)\n  ";
  loadColumns(argument, heldRowOf(argument), computedType(argument.getType()),
              heldItems, columns);
  if (first.empty())
    return;
  os << "else\n  ";
  load(first);
}

/// Loads the elements of the current row.
void RowsEmitter::loadHeldElements(ArrayRef<BlockArgument> ofElements,
                                   const HeldArrays &arrays) {
  if (ofElements.empty())
    return;
  if (!whenAdjacent.empty()) {
    assert(arrays.stored.size() == ofElements.size() &&
           "elements have 16 bits");
    for (BlockArgument argument : ofElements)
      os << arrays.stored.lookup(argument) << "[" << nthRow << "].load("
         << rowPointers[slots.inputs[argument.getArgNumber()]] << ", " << group
         << ", heddle::reread(" << group << ".present));\n";
    return;
  }
  declarePresent();
  if (hasAdjacentForm()) {
    for (BlockArgument argument : ofElements)
      loadAdjacent(argument, arrays);
    return;
  }
  beginHeldColumns();
  for (BlockArgument argument : ofElements) {
    int slot = slots.inputs[argument.getArgNumber()];
    Type storage = storageOf(argument);
    std::string stored = arrays.stored.lookup(argument);
    if (stored.empty())
      os << scope[argument] << " = " << hasHeldColumn() << " ? "
         << loadOf(argument, "column") << " : 0;\n";
    else
      os << stored << "[" << nthRow << "][k] = " << hasHeldColumn() << " ? "
         << elementOf(slot, "column") << " : "
         << (isHalf(storage) ? storedType(storage).str() + "()" : "0") << ";\n";
  }
  os.unindent() << "}\n";
}

/// Loads operands of elements and of rows, for all phases.
void RowsEmitter::loadHeld(ArrayRef<BlockArgument> ofElements,
                           ArrayRef<BlockArgument> ofRows) {
  if (ofElements.empty() && ofRows.empty())
    return;
  HeldArrays arrays = declareHeldArrays(ofElements, ofRows);
  {
    Scope::Nested block(scope);
    beginHeldRows(/*loads=*/true);
    if (!ofElements.empty())
      declareRowPointers([](const OperandSlot &slot) { return slot.read; });
    for (BlockArgument argument : ofRows) {
      int slot = slots.inputs[argument.getArgNumber()];
      std::string value = converted(pointers[slot] + "[row]",
                                    storageOf(argument), argument.getType());
      os << scope[argument] << " = "
         << (slots.columns ? "there ? " + value + " : 0" : value) << ";\n";
    }
    loadHeldElements(ofElements, arrays);
    endHeldRows();
  }
  if (arrays.stored.empty())
    os << "heddle::keep_order(); // all loads before the first store\n";
  else
    os << "heddle::end_loads(" << firstRow << ");\n";
  if (arrays.storedFirst.empty())
    return;
  os << "if constexpr (" << rowsAtOnce << " > 1) {\n";
  os.indent();
  beginRowsAtOnce();
  for (BlockArgument argument : ofElements)
    if (std::string first = arrays.storedFirst.lookup(argument); !first.empty())
      os << first << "[" << nthRow << "].convert_to(" << heldRowOf(argument)
         << ");\n";
  os.unindent() << "}\n";
  os.unindent() << "}\n";
}

} // namespace heddle::cuda

//===- PanelResident.cpp - values that stay in shared memory --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a cluster per member, a block keeps the values that iterations read and
// write in shared memory, from before the first iteration until after the last.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;
using llvm::Twine;

namespace heddle::cuda {

/// Prints the functions that load and store the resident values.
void PanelEmitter::emitResident() {
  auto extent = [](int32_t index) {
    return index == kI   ? "heddle::position().height"
           : index == kJ ? "member().columns"
                         : "1";
  };
  auto firstOf = [](int32_t index) {
    return index == kI ? " + heddle::position().first_row" : "";
  };
  beginFunction("Loads the resident values, and makes the descriptor point to "
                "them.",
                "void load_resident(loop_params &params)");
  for (auto &[k, name] : residentOperands) {
    int32_t index = slots.operands[k].index;
    os << "heddle::copy_values(resident()." << name << ", " << pointers[k]
       << firstOf(index) << ", " << extent(index) << ");\n";
  }
  os << "__syncthreads();\n";
  open("if (threadIdx.x == 0) {");
  os << "heddle::panel_position &position = heddle::position();\n";
  std::string ofColumn, ofPart, values, ofMember;
  auto add = [](std::string &sum, const Twine &term) {
    sum += (sum.empty() ? "" : " + ") + term.str();
  };
  for (auto &[k, name] : residentOperands) {
    const OperandSlot &slot = slots.operands[k];
    std::string type = storedType(slot.storage).str();
    os << pointers[k] << " = resident()." << name
       << (slot.index == kI ? " - position.first_row" : "") << ";\n";
    if (slot.written && slot.index == kJ)
      add(ofColumn, "sizeof(" + type + ")");
    else if (slot.written && slot.index != kI)
      add(values, "heddle::sent_bytes<" + type + ">");
  }
  for (fused::ReduceOp column : analysis.columns)
    add(ofPart, "sizeof(" + partType(column) + ")");
  for (fused::ReduceOp member : analysis.members)
    add(ofMember, partsOf(member) + "::bytes");
  auto orZero = [](const std::string &sum) { return sum.empty() ? "0" : sum; };
  os << "position.bytes_of_parts = heddle::panels * "
        "heddle::in_messages(position.combined) * ("
     << orZero(ofPart) << ") + (position.is_last_block() ? " << orZero(ofMember)
     << " : 0);\n"
     << "position.bytes_of_values = heddle::in_messages(member().columns) * ("
     << orZero(ofColumn) << ")" << (values.empty() ? "" : " + ") << values
     << ";\n";
  close();
  for (auto &[k, name] : residentScratch)
    os << "params." << scratchNames[k] << " = resident()." << name
       << (panel.scratch[k].per == PanelScratchPer::row
               ? " - heddle::position().first_row"
               : "")
       << ";\n";
  os << "__syncthreads();\n";
  endFunction();

  beginFunction(
      "Stores the resident values: each block its rows, and one block "
      "all other values.",
      "void store_resident(const loop_params &params, int member_index)");
  os << "__syncthreads(); // other threads have stored the rows\n"
     << "const auto descriptor = "
        "heddle::descriptor_at<member_descriptor>(params.table.members, "
        "member_index);\n";
  for (auto &[k, name] : residentOperands) {
    const OperandSlot &slot = slots.operands[k];
    if (!slot.written)
      continue;
    if (slot.index != kI)
      os << "if (heddle::position().block == 0)\n  ";
    os << "heddle::copy_values(descriptor."
       << StringRef(pointers[k]).drop_front(StringRef("member().").size())
       << firstOf(slot.index) << ", resident()." << name << ", "
       << extent(slot.index) << ");\n";
  }
  endFunction();
}

} // namespace heddle::cuda

//===- PanelTeam.cpp - what the trips of a team hand on -------------------===//
//
// A team keeps what its trips read and write of a member in shared memory, from
// before the first trip until after the last.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using namespace mlir;

namespace heddle::cuda {

/// Shared memory for what a team reads and writes of a member's rows and
/// columns, and of the member.
void PanelEmitter::declareKept() {
  os << "#if HEDDLE_PANEL_TEAM\n// What trips hand on stays here until the "
        "loop "
        "ends.\n";
  for (auto [k, slot] : llvm::enumerate(slots.operands)) {
    if (slot.index > kJ || isNumberOfOperand(slot))
      continue;
    std::string name = keptLists[k] =
        scope.fresh(nameOfSlot(slot) + "_of_team");
    os << "alignas(16) __shared__ " << storedType(slot.storage) << ' ' << name
       << '['
       << (slot.index == kI   ? "heddle::panel_rows"
           : slot.index == kJ ? "heddle::team_columns"
           : storageBytes(slot.storage) < 4
               ? std::to_string(4 / storageBytes(slot.storage))
               : "1")
       << "];\n";
  }
  for (auto [k, area] : llvm::enumerate(panel.scratch)) {
    if (area.per != PanelScratchPer::row)
      continue;
    std::string name = keptScratch[k] =
        scope.fresh(scratchNames[k] + "_of_team");
    os << "__shared__ " << computed(area.owner) << ' ' << name
       << "[heddle::panel_rows];\n";
  }
  os << "#endif\n";
}

void PanelEmitter::emitTeamBegins() {
  os << "#if HEDDLE_PANEL_TEAM\n";
  for (auto &[k, name] : keptLists) {
    int32_t index = slots.operands[k].index;
    os << "heddle::copy_values(" << name << ", " << pointers[k]
       << (index == kI   ? " + at.first_row, at.height"
           : index == kJ ? ", member.columns"
                         : ", 1")
       << ");\n";
  }
  os << "__syncthreads();\n";
  open("if (threadIdx.x == 0) {");
  for (auto &[k, name] : keptLists)
    os << "member.operand[" << k << "] = " << name
       << (slots.operands[k].index == kI ? " - at.first_row" : "") << ";\n";
  std::string ofColumn = "0", ofPart = "0", ofMember = "0", values = "0";
  for (fused::ReduceOp column : passes.columns)
    ofPart += " + sizeof(" + partType(column) + ")";
  for (fused::ReduceOp member : passes.members)
    ofMember += " + " + partsOf(member) + "::bytes";
  for (auto &[k, name] : keptLists) {
    const OperandSlot &slot = slots.operands[k];
    StringRef type = storedType(slot.storage);
    if (slot.written && slot.index == kJ)
      ofColumn += (" + sizeof(" + type + ")").str();
    else if (slot.written && slot.index != kI)
      values += (" + heddle::sent_bytes<" + type + ">").str();
  }
  os << "at.bytes_of_parts = heddle::panels * "
        "heddle::in_messages(at.combined) * ("
     << ofPart << ") + (at.block == at.blocks - 1 ? " << ofMember << " : 0);\n"
     << "at.bytes_of_values = heddle::in_messages(member.columns) * ("
     << ofColumn << ") + " << values << ";\n";
  close();
  for (auto &[k, name] : keptScratch)
    os << scratchNames[k] << " = " << name << " - at.first_row;\n";
  os << "__syncthreads();\n#endif\n";
}

void PanelEmitter::emitTeamEnds() {
  os << "#if HEDDLE_PANEL_TEAM\n";
  open("{ // each block stores its rows, and one the rest");
  os << "__syncthreads(); // rows are others' work\n";
  os << "const auto stored = heddle::descriptor_at<" << names.sweep
     << "_member_descriptor>(table.members, m);\n";
  for (auto &[k, name] : keptLists) {
    const OperandSlot &slot = slots.operands[k];
    if (!slot.written)
      continue;
    if (slot.index != kI)
      os << "if (at.block == 0)\n  ";
    os << "heddle::copy_values(static_cast<" << storedType(slot.storage)
       << " *>(stored.operand[" << k << "])"
       << (slot.index == kI ? " + at.first_row" : "") << ", " << name
       << (slot.index == kI   ? ", at.height"
           : slot.index == kJ ? ", member.columns"
                              : ", 1")
       << ");\n";
  }
  close();
  os << "#endif\n";
}

} // namespace heddle::cuda
